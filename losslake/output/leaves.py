"""Nested columns, changed where their values are and not in how they nest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def is_list(kind: pa.DataType) -> bool:
    """Whether it is a list of any layout that answers have."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def with_leaves(array: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """The same array with each column of leaves converted; a list of a fixed size becomes one of any."""
    kind = array.type
    if pa.types.is_struct(kind) and kind.num_fields:
        names = [kind.field(at).name for at in range(kind.num_fields)]
        children = [with_leaves(child, convert) for child in array.flatten()]
        return pa.StructArray.from_arrays(children, names, mask=array.is_null())
    if pa.types.is_map(kind):
        entries = array.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
        keys, items = (with_leaves(child, convert) for child in entries.flatten().flatten())
        return pa.MapArray.from_arrays(_offsets(entries), keys, items, mask=array.is_null())
    if is_list(kind):
        values = with_leaves(array.flatten(), convert)
        return pa.ListArray.from_arrays(_offsets(array), values, mask=array.is_null())
    return convert(array)


def _offsets(lists: pa.Array) -> pa.Array:
    """Where each list begins among the values, and the end; nulls have none."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
