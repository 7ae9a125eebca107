"""Messages of ``mx``: what: (class, message, hint)."""

from __future__ import annotations

from ._base import ArchiveError, OstinatoError, UsageError

MESSAGES: dict[str, tuple[type[OstinatoError], str, str]] = {
    "dtype": (
        UsageError,
        "The tensor has dtype {dtype}, and must be float32, float64, bfloat16 or float16.",
        "convert it first: x.float()",
    ),
    "scalar": (
        UsageError,
        "The tensor has no dimension, and blocks are made along the last one.",
        "reshape it: x.reshape(1)",
    ),
    "format": (
        UsageError,
        "format={value!r} is no MX format.",
        "pass one of {known}",
    ),
    "block_size": (
        UsageError,
        "block_size={value!r} is not one of {known}.",
        "32 is what the specification says",
    ),
    "scale_mode": (
        UsageError,
        "scale_mode={value!r} is not one of {known}.",
        "'floor' is what the specification says",
    ),
    "in_place": (
        UsageError,
        "{op} would change an MXTensor in place.",
        "dequantize, change the result, and quantize it again",
    ),
    "layout": (
        UsageError,
        "layout={value!r} is not one of {known}.",
        "'ocp' holds every MX tensor; the others are what other tools read",
    ),
    "layout_unknown": (
        ArchiveError,
        "{path} has tensors in none of the layouts that are known here: {known}.",
        "name the layout with layout=, or read ordinary tensors with safetensors.torch.load_file",
    ),
    "layout_version": (
        ArchiveError,
        "The file is of version {found!r} of the layout 'ocp', and this reads {known!r}.",
        "read it with the version of Ostinato that wrote it",
    ),
    "file_absent": (
        ArchiveError,
        "There is no file {path}.",
        "pass a .safetensors file, an index of several, or the folder of a model",
    ),
    "file_bad": (
        ArchiveError,
        "{path} cannot be read: {why}.",
        "it is cut short, changed, or no safetensors file: fetch it again",
    ),
    "file_unknown": (
        ArchiveError,
        "{path}: {name} has dtype {dtype}, which torch does not know.",
        "only files of which every tensor has a dtype of torch are read",
    ),
    "file_outside": (
        ArchiveError,
        "{path} names the file {name!r}, which is not a plain name of a file beside it.",
        "an index may only name files in its own folder",
    ),
    "file_shards": (
        ArchiveError,
        "Files that {path} names are not there: {names}.",
        "fetch them into the same folder",
    ),
    "file_tensor_missing": (
        ArchiveError,
        "{path}: {count} tensors are not where they should be; the first is {name}.",
        "the files are not all of one checkpoint: fetch them again",
    ),
    "file_metadata": (
        ArchiveError,
        "The metadata of {name} do not describe an MX tensor that this can read.",
        "formats, block sizes and dtypes are those of ost.mx.quantize, and scales must not be swizzled",
    ),
    "file_dtype": (
        ArchiveError,
        "{name} has dtype {dtype}, and parts of MX tensors are bytes.",
        "name another layout with layout=",
    ),
    "file_shape": (
        ArchiveError,
        "{name} has the shape {shape}, and should have {expected}.",
        "the file is broken, or in another layout: name it with layout=",
    ),
    "file_more": (
        ArchiveError,
        "{name} is no plain MX tensor, since {other} belongs to it.",
        "only symmetric formats with one scale a block are read",
    ),
    "file_twice": (
        ArchiveError,
        "Two tensors of the file become {name}.",
        "name another layout with layout=",
    ),
    "file_quantized": (
        ArchiveError,
        "{path} is quantized already: its tensors are in the layout {layout!r}.",
        "start from the checkpoint that it was made of",
    ),
    "file_nothing": (
        ArchiveError,
        "No tensor of {path} can be quantized: {why}.",
        "weights are float tensors of two dimensions or more called NAME.weight, and experts of three",
    ),
    "unwritable": (
        OstinatoError,
        "{path} cannot be written: {reason}.",
        "give a path in a folder that exists and is yours to write in",
    ),
    "out_suffix": (
        UsageError,
        "{path} does not end in .safetensors, and one file becomes one file.",
        "only an index or a folder becomes a folder",
    ),
    "out_folder": (
        UsageError,
        "{path} holds {name}, which is no file of this checkpoint.",
        "give an empty folder, or one that does not exist yet",
    ),
    "out_same": (
        UsageError,
        "{path} is where the checkpoint lies that is read.",
        "give another path: weights cannot be won back from a quantized file",
    ),
    "save_twice": (
        UsageError,
        "Two tensors would be called {name} in the file.",
        "rename one of them",
    ),
    "save_layout": (
        UsageError,
        "The layout {layout!r} has no form for {name}, {tensor!r}.",
        "quantize it otherwise, dequantize it, or save with layout='ocp', which holds all",
    ),
    "save_type": (
        UsageError,
        "{name} is of {type}, which a safetensors file cannot hold.",
        "leave it out, or convert it to an ordinary tensor",
    ),
}
