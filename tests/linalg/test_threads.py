"""Products by blocks of rows, and aligned copies."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Thread

import numpy as np
import pytest
from problems import weak_groups

from npkl_models.linalg import threads


@pytest.mark.parametrize("columns", [(), (1,), (5,)])
def test_products_by_blocks_of_rows_are_the_same(columns, monkeypatch):
    S, _, _ = weak_groups(500)
    X = np.random.default_rng(0).normal(size=(500, *columns))
    for count in (1, 2, 3, 7):
        blocks = threads.RowBlocks(S, count)
        np.testing.assert_array_equal(blocks @ X, S @ X)
        assert all(np.shares_memory(block.data, S.data) for block in blocks.blocks)
    monkeypatch.setattr(threads, "WORTHWHILE", 10)
    monkeypatch.setattr(threads, "available", lambda: 2)
    assert isinstance(threads.threaded(S), threads.RowBlocks)
    dense = S.toarray()
    assert threads.threaded(dense) is dense
    monkeypatch.setattr(threads, "available", lambda: 1)
    assert threads.threaded(S) is S


def blas_threads():
    """Of each BLAS that can have several; SCS may bring one along that cannot."""
    libraries = [info for info in threads._controller().info() if info["user_api"] == "blas"]
    return {info["num_threads"] for info in libraries if info["threading_layer"] != "disabled"}


def test_blas_has_one_thread_for_what_is_small_or_long_and_its_own_again_at_the_end():
    """Whichever of several threads of ours leaves last."""
    before, together = blas_threads(), Barrier(3)

    def work(k):
        with threads.quiet_blas((10, 100_000, 10)[k]):
            together.wait()
            return blas_threads()

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(work, range(3))) == [{1}] * 3
    assert blas_threads() == before
    with threads.quiet_blas(2_000):
        assert blas_threads() == before
    with pytest.raises(ZeroDivisionError), threads.quiet_blas(1):
        1 / 0  # noqa: B018
    assert blas_threads() == before


def quiet_in_a_thread(entered, leave, seen):
    with threads.quiet_blas(10):
        seen.append(blas_threads())
        entered.set()
        leave.wait(30)


def test_a_thread_has_one_after_the_main_thread_had_and_takes_it_back_where_it_leaves_last():
    """threadpoolctl 3.7 and later heed the first thread that ever set a limit of OpenBLAS, and no other."""
    threads._in_command()  # whichever thread was heeded before
    with threads._controller().limit(limits=2, user_api="blas"):
        threads._in_command()  # as where nobody has set a limit yet
        check_a_thread_after_the_main_thread()


def check_a_thread_after_the_main_thread():
    before = blas_threads()
    assert before == {2}
    for last in (False, True):
        with threads.quiet_blas(10):
            assert blas_threads() == {1}
        entered, leave, seen = Event(), Event(), []
        other = Thread(target=quiet_in_a_thread, args=(entered, leave, seen))
        if last:
            with threads.quiet_blas(10):
                other.start()
                entered.wait(30)
        else:
            other.start()
            entered.wait(30)
        leave.set()
        other.join()
        assert seen == [{1}]
        assert blas_threads() == before
