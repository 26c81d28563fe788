"""How files are altered: their bytes, the structure of their archive, their header, their cells."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import zipfile
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np

from npkl_models.files import saved

NASTY: tuple[Any, ...] = (
    None, [], {}, "", "x", True, -1, 0, 0.5, 1e308, 10**9, 10**19, -(10**19), float("nan"), float("inf"),
    [[]], [None], {"": None}, "OPTIMAL", "UNBOUNDED", "INFEASIBLE", "x" * 5000, [[[[[[]]]]]], 2, 3, 1e-300,
)  # fmt: skip
TEXTS = (
    "[" * 100_000, "null", "[]", "", "{", "9" * 5000, "NaN", '{"format": 3}', '"' + "\\u0000" * 9 + '"',
    "{}" * 3,
)  # fmt: skip
WORDS = (
    "", "NA", "nan", "inf", "-inf", "1e999", "1_0", "0x10", "١", "x", "'", '"', "1,5", "9" * 400, "-", "+", "#", " 7 ",
    "1e", "\u00e9", "=1+1", "x" * 140_000, "\t", "must", "cannot", "-1", "99", "2147483648", "9" * 30, "1:1", "0:1",
    "-1:1", "2000000000:1", "1:nan", "1:", ":1", "qid:3", "1:1:1", "1.5:2",
)  # fmt: skip


def mutated(
    data: bytes, kind: str, pack: Callable[[bytes], bytes], others: list[bytes], random: Random
) -> bytes:
    """The data altered, once or a few times, before or after they are packed."""
    rounds = 1 if random.random() < 0.7 else random.randrange(2, 5)
    inside = random.random() < 0.7
    structured = STRUCTURED[kind]
    for _ in range(rounds):
        try:
            if inside and random.random() < 0.75:
                data = random.choice(structured)(data, random)
            elif inside or pack is bytes:
                data = _bytes(data, others, random)
        except Exception:  # what was altered before has lost its structure
            data = _bytes(data, others, random)
    if pack is bytes:
        return data
    if random.random() < 0.003:
        return bomb(random.choice((gzip.compress, bz2.compress)))
    data = pack(data)
    return data if inside else _bytes(data, others, random)


def _bytes(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Bits flipped, cut off, doubled, moved, overwritten, or joined with another file."""
    if not data:
        return random.randbytes(random.randrange(20))
    out, size = bytearray(data), len(data)
    at, length = random.randrange(size), random.randrange(1, min(size, 64) + 1)
    match random.randrange(8):
        case 0 | 1:
            for _ in range(random.choice((1, 1, 2, 8))):
                out[random.randrange(size)] ^= 1 << random.randrange(8)
        case 2:
            del out[at:]
        case 3:
            del out[at : at + length]
        case 4:
            out[at:at] = out[random.randrange(size) :][:length]
        case 5:
            out[at : at + length] = bytes(length)
        case 6:
            other = random.choice(others)
            out = out[:at] + other[random.randrange(len(other)) :]
        case 7:
            out[at : at + length] = random.randbytes(length)
    return bytes(out)


@cache
def bomb(pack: Callable[[bytes], bytes]) -> bytes:
    """A quarter of a gigabyte in a few kilobytes."""
    return pack(b"1,2,0\n" + b"0" * 2**28)


# --------------------------------------------------------------------------------------- archives

Entries = list[tuple[str, bytes]]


def _entries(data: bytes) -> Entries:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return [(entry.filename, file.read(entry)) for entry in file.infolist()]


def _archive(entries: Entries, how: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how, compresslevel=1) as file:
        for name, content in entries:
            if name not in file.NameToInfo:
                file.writestr(name, content)
            else:
                file.NameToInfo.pop(name)
                file.writestr(name, content)
    return out.getvalue()


def _npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asanyarray(array), allow_pickle=True)
    return out.getvalue()


def _array(content: bytes) -> Any:
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


def header(data: bytes, random: Random) -> bytes:
    """A field of the JSON header changed, dropped, doubled or nested; or all of it."""
    entries = dict(_entries(data))
    text = str(_array(entries["header.npy"]))
    text = random.choice(TEXTS) if random.random() < 0.1 else _json(text, random)
    entries["header.npy"] = _npy(np.array(text))
    return _archive(list(entries.items()))


def signed(data: bytes, random: Random) -> bytes:
    """Altered, with the right checksum if there can be one, so that nothing but its sense speaks for the file."""
    out = random.choice((header, array, entry))(data, random)
    try:
        arrays = {name.removesuffix(".npy"): _array(content) for name, content in _entries(out)}
        found = json.loads(str(arrays.pop("header")))
        found["checksum"] = saved.checksum(found, arrays)
        text = _npy(np.array(json.dumps(found)))
        return _archive([(n, text if n == "header.npy" else own) for n, own in _entries(out)])
    except Exception:  # no whole archive, or no header
        return out


def array(data: bytes, random: Random) -> bytes:
    """Numbers, shape or type of an array changed, with a right sum over its bytes."""
    entries = _entries(data)
    k = random.randrange(len(entries))
    name, content = entries[k]
    found = _array(content)
    match random.randrange(9):
        case 0 if found.size and found.dtype.kind in "fiu":
            found = found.copy()
            found.flat[random.randrange(found.size)] = random.choice((0, 1, 7, 100))
        case 1 if found.size and found.dtype.kind == "f":
            found = found.copy()
            found.flat[random.randrange(found.size)] = random.choice((np.nan, np.inf, 1e308, -1.0))
        case 2:
            found = found.astype(random.choice(("f4", "i8", "c16", "U5", "S3", "?", ">f8", "f2", "u1")))
        case 3:
            found = found.ravel()[: random.randrange(found.size + 1)]
        case 4:
            found = np.concatenate([found.ravel()] * 2)
        case 5:
            found = np.array([None, {}], dtype=object)
        case 6:
            found = random.choice((found[None], np.zeros(0), np.zeros((0, 3)), np.array(1.0), 2 * found))
        case 7:
            found = np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])
        case _:
            found = found.T[::-1] if found.ndim else found
    entries[k] = (name, _npy(found))
    return _archive(entries)


def npy_head(data: bytes, random: Random) -> bytes:
    """The head of an array that says another shape, type or order than its bytes have."""
    entries = _entries(data)
    k = random.randrange(len(entries))
    name, content = entries[k]
    begin = content.index(b"{")
    end = content.index(b"\n", begin)
    head = content[begin:end].rstrip()
    shape = random.choice(
        (
            b"(1000000000000,)",
            b"(-1,)",
            b"(3, 0)",
            b"()",
            b"None",
            b"(2**40,)",
            b"((((",
            b"(1.5,)",
            b"(True,)",
        )
    )
    descr = random.choice(
        (b"'|O'", b"'<f4'", b"'V9'", b"'<U99999999'", b"[('a', '<f8')]", b"'<m8'", b"5", b"'>f8'")
    )
    edits = (
        lambda: head[: head.index(b"'shape':") + 8] + b" " + shape + b"}",
        lambda: head.replace(head[head.index(b":") + 1 : head.index(b",")], b" " + descr, 1),
        lambda: head.replace(b"False", b"True"),
        lambda: b"(" * 3000 + head,
        lambda: head[:-1],
    )
    new = random.choice(edits)()
    new = new + b" " * max(0, end - begin - len(new))
    size = len(new) + 1
    entries[k] = (name, content[:8] + size.to_bytes(2, "little") + new + b"\n" + content[end + 1 :])
    return _archive(entries)


def entry(data: bytes, random: Random) -> bytes:
    """An entry dropped, doubled, renamed, added, swapped or packed in another way."""
    entries = _entries(data)
    k, j = random.randrange(len(entries)), random.randrange(len(entries))
    how = zipfile.ZIP_DEFLATED
    match random.randrange(7):
        case 0:
            del entries[k]
        case 1:
            entries.append(entries[k])
        case 2:
            entries[k] = (
                random.choice(("X.npy", "../../x.npy", "header", "V.npy", "y0.npy", "\u00e9.npy")),
                entries[k][1],
            )
        case 3:
            entries.append((random.choice(("V.npy", "junk.npy", "basis.npy", "y9.npy")), entries[k][1]))
        case 4:
            entries[k], entries[j] = (entries[k][0], entries[j][1]), (entries[j][0], entries[k][1])
        case 5:
            how = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
        case 6 if random.random() < 0.05:
            entries.append((random.choice(("V.npy", "junk.npy", "X.npy")), large()))
    return _archive(entries, how)


@cache
def large() -> bytes:
    """Zeros that pack to almost nothing."""
    return _npy(np.zeros((6, 700_000)))


def directory(data: bytes, random: Random) -> bytes:
    """Sizes, flags or methods in the directory of the archive that are not so."""
    out = bytearray(data)
    at = data.rindex(b"PK\x01\x02") if random.random() < 0.5 else data.index(b"PK\x01\x02")
    where = random.choice((6, 8, 10, 20, 24, 28, 30, 32, 42))
    size = 4 if where in (20, 24, 42) else 2
    out[at + where : at + where + size] = random.choice(
        (0, 1, 8, 255, 2**15, 2**31 if size == 4 else 9)
    ).to_bytes(size, "little")
    return bytes(out)


def _json(text: str, random: Random) -> str:
    """JSON with a value somewhere in it changed."""
    found = json.loads(text)
    place, key, holder = found, None, None
    while isinstance(place, dict | list) and place and (holder is None or random.random() < 0.6):
        key = random.choice(list(place)) if isinstance(place, dict) else random.randrange(len(place))
        holder, place = place, place[key]
    if holder is None:
        return json.dumps(random.choice(NASTY))
    match random.randrange(6):
        case 0:
            del holder[key]
        case 1 if isinstance(place, int | float) and not isinstance(place, bool):
            holder[key] = random.choice((place + 1, -place, place * 2, str(place), [place], float(place)))
        case 2:
            holder[key] = [place] * 3
        case _:
            holder[key] = random.choice(NASTY)
    return json.dumps(found)


def json_text(data: bytes, random: Random) -> bytes:
    """A file in JSON altered."""
    return (random.choice(TEXTS) if random.random() < 0.2 else _json(data.decode(), random)).encode()


# ------------------------------------------------------------------------------------------ texts


def cells(data: bytes, random: Random) -> bytes:
    """A cell replaced, dropped or doubled; a line dropped, doubled or moved; another mark between cells."""
    text = data.decode()
    mark = next((one for one in ";,\t " if one in text), ",")
    rows = [line.split(mark) for line in text.split("\n")]
    i = random.randrange(len(rows))
    k = random.randrange(len(rows[i]))
    match random.randrange(11):
        case 0 | 1 | 2:
            rows[i][k] = random.choice(WORDS)
        case 3:
            del rows[i][k]
        case 4:
            rows[i].insert(k, random.choice(WORDS))
        case 5:
            del rows[i]
        case 6:
            rows.insert(random.randrange(len(rows)), random.choice((rows[i], [""], [" "], ["", "", ""])))
        case 7:
            mark = random.choice((",", ";", "\t", " ", "|", ", "))
        case 8:
            rows = [[f'"{cell}"' for cell in row] if row != [""] else row for row in rows]
        case 9:
            rows = [[*row, ""] for row in rows]
        case 10:
            rows = [row[1:] if random.random() < 0.5 and j == 0 else row for j, row in enumerate(rows)]
    return "\n".join(mark.join(row) for row in rows).encode()


def encoding(data: bytes, random: Random) -> bytes:
    """Other encodings, marks, ends of lines, zero bytes, rows as wide as a house."""
    text = data.decode()
    match random.randrange(8):
        case 0:
            return text.encode("utf-8-sig")
        case 1:
            return text.encode("utf-16")
        case 2:
            return text.replace("1", "\u00e9", 1).encode("latin-1")
        case 3:
            return text.replace(
                "\n", random.choice(("\r\n", "\r", "\n\n", "\n \n", "\x0b", "\u2028"))
            ).encode()
        case 4:
            return text.encode().replace(b"1", b"\0", 1)
        case 5:
            return (text + random.choice((",", " ", "1,") * 1) * 30_000).encode()
        case 6:
            return text.strip().encode()
        case _:
            return ("#" + text).encode()


STRUCTURED: dict[str, tuple[Callable[[bytes, Random], bytes], ...]] = {
    "npz": (header, header, signed, signed, array, npy_head, entry, directory),
    "json": (json_text,), "csv": (cells, cells, cells, encoding), "pairs": (cells, cells, encoding),
    "libsvm": (cells, cells, encoding), "answer": (cells, cells, encoding), "sdpa": (cells, encoding),
}  # fmt: skip
