"""Reading record batches: what was written is read; bytes that are not are never taken for records."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.evidence.disks.batches import Batch, Damage, read_batches
from tests.laboratory.disks import written

_RECORDS = st.one_of(
    st.lists(st.just(written.Data()), min_size=1, max_size=3),
    st.lists(
        st.one_of(
            st.builds(written.Leader, st.integers(0, 2**31 - 1)),
            st.builds(written.Version, st.integers(0, 2**15 - 1)),
            st.builds(written.VoterSet, st.lists(st.integers(1, 2**31 - 1), max_size=5).map(tuple)),
        ),
        min_size=1,
        max_size=3,
    ),
).map(tuple)
_LOG = st.lists(st.builds(written.Batch, st.integers(0, 2**31 - 1), _RECORDS), max_size=6)


def read(content: bytes) -> list[Batch | Damage]:
    return list(read_batches(io.BytesIO(content), decode=True))


@pytest.mark.slow
@given(_LOG, st.integers(0, 2**62))
def test_what_was_written_is_read(log: list[written.Batch], base: int) -> None:
    found = read(written.log_bytes(log, base))
    assert [(each.epoch, each.last - each.base + 1) for each in found if isinstance(each, Batch)] == [
        (each.epoch, len(each.records)) for each in log
    ]
    for batch, expected in zip(found, log, strict=True):
        assert isinstance(batch, Batch) and batch.base == base
        base = batch.end
        for name, record in zip(batch.kinds, expected.records, strict=True):
            match record:
                case written.Leader(id):
                    assert f"leader={id} " in name
                case written.Version(level):
                    assert name == f"KRaftVersion {level}"
                case written.VoterSet(ids):
                    named = ", ".join(f"{id}@{written.directory(id)}" for id in ids)
                    assert name == f"Voters [{named}]"
                case _:
                    assert name == "NO_OP_RECORD"


_LOG_OF_THREE = [written.BEGIN, written.DATA, written.Batch(2, (written.Leader(2),))]


def test_a_file_that_ends_early_has_a_prefix_and_says_so() -> None:
    whole = written.log_bytes(_LOG_OF_THREE)
    batches = read(whole)
    ends = [each.position + each.size for each in batches if isinstance(each, Batch)]
    for size in range(len(whole)):
        found = read(whole[:size])
        complete = sum(end <= size for end in ends)
        assert found[:complete] == batches[:complete]
        at = [0, *ends][complete]
        torn = [each for each in found[complete:] if isinstance(each, Damage)]
        assert len(found) - complete == len(torn) == (size != at)
        assert all(each.torn and each.position == at for each in torn)


def changed() -> Iterator[bytes]:
    whole = written.log_bytes(_LOG_OF_THREE)
    for at, byte in enumerate(whole):
        for bit in (0, 7):
            yield whole[:at] + bytes([byte ^ 1 << bit]) + whole[at + 1 :]


def test_no_record_of_a_changed_batch_is_read() -> None:
    """The CRC covers all but offset, length, epoch and itself; these are compared with what is around."""
    before = read(written.log_bytes(_LOG_OF_THREE))
    contents = {each.kinds for each in before if isinstance(each, Batch)}
    for content in changed():
        found = read(content)
        assert found != before
        assert all(each.kinds in contents for each in found if isinstance(each, Batch))


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_an_exception(content: bytes) -> None:
    position = 0
    for each in read(content):
        assert each.position >= position
        position = each.position


@given(st.data(), st.sampled_from([written.BEGIN, written.DATA]))
def test_any_body_with_a_crc_that_fits(data: st.DataObject, batch: written.Batch) -> None:
    """A CRC says that the bytes are those that were written, not that they are records."""
    from google_crc32c import value as crc32c

    whole = bytearray(written.batch(0, batch))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(21, len(whole) - 1))] = data.draw(st.integers(0, 255))
    whole[17:21] = crc32c(bytes(whole[21:])).to_bytes(4, "big")
    for each in read(bytes(whole)):
        if isinstance(each, Batch):
            assert each.size == len(whole)


@pytest.mark.parametrize(
    ("content", "torn"),
    [(bytes(10), True), (bytes(100), True), (bytes(100) + b"x", False), (b"\xff" * 100, False)],
    ids=["short-zeros", "zeros", "zeros-and-more", "no-header"],
)
def test_zeros_and_noise(content: bytes, torn: bool) -> None:
    found = read(content)
    assert [(type(each), getattr(each, "torn", None)) for each in found] == [(Damage, torn)]


def test_a_compressed_batch_is_refused() -> None:
    from google_crc32c import value as crc32c

    whole = bytearray(written.batch(0, written.DATA))
    whole[22] |= 1
    whole[17:21] = crc32c(bytes(whole[21:])).to_bytes(4, "big")
    (found,) = read(bytes(whole))
    assert isinstance(found, Damage) and "compressed" in found.what
