"""Files of the user's own: columns, scales and memory; on the page, a refused file leaves no old answer."""

import subprocess
import sys

import pytest

import npkl_models as nm
from explore.pages import answered
from npkl_models.explore import answers
from npkl_models.explore.form import Form

TABLE = "plot,height,width,kind\nnorth,1.5,300,oak\nsouth,1.6,310,oak\neast,9.1,120,elm\nwest,9.3,900,elm\n"
READS = """
import sys
from pathlib import Path
from npkl_models.explore.session import Uploads
(uploads := Uploads()).keep("big.csv", Path(sys.argv[1]).read_bytes())
uploads.close()
print(int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1.024e-3)  # not a parent's
"""


def test_the_columns_of_a_csv_are_fields_of_the_form(session, tmp_path):
    content = TABLE.encode()
    with pytest.raises(
        nm.ProblemError, match="column 1 .plot.: must be a number, got .north.; .* as ids"
    ) as error:
        session.uploads.keep("a.csv", content)
    assert "--" not in str(error.value)
    with pytest.raises(nm.ProblemError, match="column 4 .kind.: must be a number, got .oak.; .* as labels"):
        session.uploads.keep("a.csv", content, ids="plot")
    kept = session.uploads.keep("a.csv", content, labels="kind", ids="plot")
    assert "4 points, 2 classes" in kept["about"]
    given = {"data_file": kept["key"], "labels": "kind", "ids": "plot", "n_neighbors": "2", "pairs": 0.5}
    raw, scaled = (
        Form.of(given | {"scaling": how}, session.uploads.files).made() for how in ("raw", "minmax")
    )
    assert raw.labels.tolist() == [1, 1, 0, 0]
    assert abs(raw.problem.cost - scaled.problem.cost).max() > 0.01
    (tmp_path / "a.csv").write_text(TABLE)
    code = answers.solve_code(scaled, Form.of(given | {"scaling": "minmax"}, session.uploads.files))
    space = {}
    exec(code.replace("'a.csv'", repr(str(tmp_path / "a.csv"))), space)
    assert abs(space["problem"].cost - scaled.problem.cost).max() == 0


@pytest.mark.parametrize("formulation", ["pcp", "mvu", "spe", "distances", "kernel_completion"])
def test_more_neighbours_than_points_are_refused(formulation):
    with pytest.raises(nm.ProblemError, match="n_neighbors must be between 1 and n - 1 = 11, got 12"):
        Form.of({"formulation": formulation, "n": 12, "n_neighbors": 12}, {}).made()


@pytest.mark.slow
@pytest.mark.parametrize("header", ["", "a,b,c,d,e,f,g,h,i,label\n", "x,y,label\n"])
def test_a_csv_of_32_mib_takes_less_than_500_mb(header, tmp_path):
    path, row = tmp_path / "big.csv", "0.123456789,-7.5,abc\n" if "x" in header else "1,2,3,4,5,6,7,8,9,0\n"
    path.write_text(header + row * (32 * 2**20 // len(row)))
    assert 50 < float(subprocess.check_output([sys.executable, "-c", READS, path], timeout=300)) < 500


def test_a_refused_file_leaves_no_old_answer_and_may_be_mended(opened, tmp_path):
    path = tmp_path / "plots.csv"
    path.write_text(TABLE)
    page = opened(1440)
    page.fill("#gamma", "2")
    page.locator("#stale").wait_for()
    page.fill("#gamma", "1")
    page.locator("#stale").wait_for(state="hidden")
    page.select_option("#data", "(a file of my own)")
    page.set_input_files("#data_upload", path)
    page.locator("#error", has_text="column 1 (plot): must be a number").wait_for()
    for id in ("verdict", "live", "optimality", "along", "raced", "stale"):
        assert page.locator(f"#{id}").is_hidden(), id
    assert page.inner_text("#words") == ""
    assert "iris" not in page.inner_text("#title")
    assert "refused" in page.inner_text("#data_about")
    assert page.locator("#figures svg").count() == 0
    page.fill("#ids", "plot")
    page.fill("#labels", "kind")
    page.press("#labels", "Tab")
    page.locator("#data_about", has_text="names of rows from 'plot'").wait_for()
    page.fill("#n_neighbors", "2")
    page.fill("#pairs", "0.5")
    page.locator("#title", has_text="plots, 4 points (uploaded)").wait_for()
    page.click("#run")
    answered(page)
    opened.complaints.clear()  # the refused file


@pytest.mark.parametrize("width", [360, 1280])
def test_formulas_are_whole(opened, width):
    for state in ("formulation=distances&loss=huber&anchors=5&n=20", "formulation=simple_npkl&loss=logistic"):
        page = opened(width, state=f"#{state}")
        wide = page.evaluate(
            "[...document.querySelectorAll('#optimality .scroll, #optimality math')].filter((one) =>"
            " one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0 && one.tagName !== 'math' ||"
            " one.getBoundingClientRect().right > innerWidth).map((one) => one.outerHTML.slice(0, 200))"
        )
        assert wide == []
