"""Arrow columns without what lies under their nulls, which is whatever was in memory there.

So an answer has the same bytes each time, and nobody is sent what was never meant for them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from losslake.output.leaves import with_leaves

_BITS_IN_A_BYTE = 8
_INTEGERS = {kind.bit_width: kind for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())}


def blank_nulls(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same batch, of plain types, with zeros under each null."""
    arrays = [with_leaves(column, _blank) if _may_hide(column) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _may_hide(array: pa.Array) -> bool:
    return bool(pa.types.is_nested(array.type)) or (array.null_count > 0 and _is_fixed(array.type))


def _is_fixed(kind: pa.DataType) -> bool:
    """Whether nulls take room among the values."""
    return not (pa.types.is_null(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
                or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))  # fmt: skip


def _blank(array: pa.Array) -> pa.Array:
    if not array.null_count or not _is_fixed(array.type):
        return array
    size, kind = len(array), array.type
    if pa.types.is_boolean(kind):
        values = _bitmap(pc.fill_null(array, False))
    else:
        width = kind.bit_width // _BITS_IN_A_BYTE
        raw = _INTEGERS.get(kind.bit_width, pa.binary(width))
        filled = pc.fill_null(array.view(raw), bytes(width) if raw not in _INTEGERS.values() else 0)
        values = filled.buffers()[1].slice(filled.offset * width, size * width)
    return pa.Array.from_buffers(kind, size, [_bitmap(array.is_valid()), values])


def _bitmap(flags: pa.Array) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags.to_numpy(zero_copy_only=False), bitorder="little").tobytes())
