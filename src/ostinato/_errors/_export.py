"""Messages of ``export``: what: (class, message, hint)."""

from ._base import ArchiveError, ExportError, UsageError

MESSAGES = {
    # ---- reading ----
    "unreadable": (
        ArchiveError,
        "{path} cannot be read: {reason}.",
        "check the path and its permissions",
    ),
    "refused": (
        ArchiveError,
        "{path} is not a program archive that may be read: {what}.",
        "{hint}",
    ),
    "senseless": (
        ArchiveError,
        "{path}: torch does not accept the program {model}: {reason}",
        "the file may be damaged, or written by a newer torch; write it again with ost.export.save",
    ),
    "unregistered": (
        ArchiveError,
        "{path}: the program {model} needs the operator {operator}, which this torch does not have.",
        "use the torch that wrote the file, and for operators of ostinato its release or a newer one",
    ),
    "device": (
        ArchiveError,
        "{path} holds weights for the device {device}, which cannot be used here: {reason}",
        "export the module on the CPU, or load the file on a machine that has the device",
    ),
    "no_metadata": (
        ArchiveError,
        "{path} holds no ostinato.json: it was not written by Ostinato.",
        "ost.export.load reads files of torch.export.save; ost.export.save_methods writes methods and state",
    ),
    "bad_metadata": (
        ArchiveError,
        "{path} describes itself wrongly: {what}.",
        "get the file again from its source, or write it anew with ost.export.save",
    ),
    "no_such_method": (
        ArchiveError,
        "{path} has no method {method!r}; it has: {known}.",
        "pass one of these as method=",
    ),
    # ---- writing ----
    "suffix": (
        UsageError,
        "The path {path!r} does not end in .pt2.",
        "torch recognises such files by their ending: name it with .pt2",
    ),
    "not_a_module": (
        UsageError,
        "save takes an ExportedProgram or a torch.nn.Module, not {kind}.",
        "wrap a function in a module whose forward calls it",
    ),
    "no_args": (
        UsageError,
        "A module can be saved only with example arguments.",
        "pass args=(...) or kwargs={{...}}, as for a call of the module",
    ),
    "args_not_tuple": (
        UsageError,
        "args must be a tuple of arguments, not {kind}.",
        "write args=(x,)",
    ),
    "program_with_args": (
        UsageError,
        "args, kwargs and dynamic_shapes go with a module; a program has been traced already.",
        "leave them out, or pass the module",
    ),
    "no_methods": (
        UsageError,
        "There is nothing to export: no methods, or a method without a variant.",
        'pass {{"forward": [...]}} with at least one entry',
    ),
    "method_name": (
        UsageError,
        "{method!r} cannot be the name of a method.",
        "use a plain identifier in ASCII",
    ),
    "metadata_key": (
        UsageError,
        "metadata has unknown keys: {keys}.",
        'it takes "source", "verification", "tolerances" and "user"; put what is your own under "user"',
    ),
    "unwritable": (
        ExportError,
        "{path} cannot be written: {reason}.",
        "metadata may hold only what JSON can: texts, finite numbers, lists, dictionaries",
    ),
    "not_readable_back": (
        ExportError,
        "The strict reader refuses the written program, so the file was not put in place: {reason}",
        "export the model without what the message names",
    ),
    "unserializable": (
        ExportError,
        "torch cannot write the program {model}: {reason}",
        "change what the message names in the module, and export again",
    ),
    "weight": (
        ExportError,
        "The weight {name} is a {kind}, which cannot be stored as plain bytes.",
        "convert it to a plain strided tensor before exporting; fake tensors have no values to store",
    ),
    "state_conflict": (
        ExportError,
        "The state {name} has another dtype, shape or initial value in one program than in another.",
        "trace all variants together with ost.export.trace_stateful, which keeps them apart",
    ),
    "unportable_operator": (
        ExportError,
        "{where} uses {operator}, which a stock torch on another machine may not have.",
        "export the module without it, or pass portable=False",
    ),
    "unportable_device": (
        ExportError,
        "{where} is tied to the device {device} (at {node}).",
        "move the module and its example arguments to the CPU before exporting, or pass portable=False",
    ),
    "unportable_dtype": (
        ExportError,
        "{where} computes in {operator} with {dtype}, which not every torch from 2.11 on knows in a file.",
        "convert to another dtype before, or pass portable=False",
    ),
    "dtype_argument": (
        ExportError,
        "{operator} takes the dtype {dtype} and gives another, which no file of this torch can say.",
        "export the model without it, or with a newer torch and portable=False",
    ),
    "input_value": (
        ExportError,
        "The argument {value} ({kind}) cannot be part of a signature.",
        "methods take tensors, whole and finite numbers, booleans, texts and None",
    ),
    "key": (
        ExportError,
        "A dictionary among the arguments or results has the key {key}.",
        "use texts as keys",
    ),
    "container": (
        ExportError,
        "The arguments or results hold a {kind}.",
        "use tuples, lists and dictionaries with texts as keys",
    ),
    # ---- other runtimes ----
    "pte_suffix": (
        UsageError,
        "The path {path!r} does not end in .pte.",
        "ExecuTorch recognises its files by their ending: name it with .pte",
    ),
    "no_executorch": (
        UsageError,
        "ExecuTorch is not installed, or not for this torch: {reason}",
        'install it with pip install "ostinato[executorch]"',
    ),
    "executorch_dtype": (
        ExportError,
        "{name} is of dtype {dtype}, which the ExecuTorch runtime does not know.",
        "export the module before ost.mx.quantize_, or keep that layer as it is with its filter_fn",
    ),
    "executorch": (
        ExportError,
        "ExecuTorch cannot lower the program: {reason}",
        "export the module without what the message names, or use the .pt2 with ost.load",
    ),
    # ---- state ----
    "no_attribute": (
        UsageError,
        "{kind} has no method {method!r}.",
        "name a method of the module",
    ),
    "uncopyable": (
        ExportError,
        "A {kind} cannot be copied, so its state cannot be watched: {reason}",
        "detach tensors that it keeps, and drop attributes such as locks and open files",
    ),
    "eager": (
        ExportError,
        "{method} fails on the example arguments: {reason}",
        "pass arguments that the method takes several times in a row",
    ),
    "program": (
        ExportError,
        "The exported program of {method} fails on arguments that the module takes: {reason}",
        "please report this with the module; a simpler method may export in the meantime",
    ),
    "untraceable": (
        ExportError,
        "{method}{signature} cannot be traced: {reason}",
        "replace branches on the values of tensors by torch.cond or torch.where",
    ),
    "counter": (
        ExportError,
        "The attribute {name} changes from call to call ({values}) and is no tensor, so it would be frozen.",
        "make it a tensor: self.register_buffer({name!r}, torch.zeros(())), and change it with add_ or copy_",
    ),
    "structure": (
        ExportError,
        "The attribute {name} changes its structure from call to call, as a list that grows does.",
        "keep it in a tensor of fixed shape",
    ),
    "shape": (
        ExportError,
        "The tensor {name} changes its shape or dtype from call to call ({shapes}); state must keep both.",
        "let it have its final shape from the first call on, as a ring buffer for example",
    ),
    "opaque": (
        ExportError,
        "The attribute {name} is replaced by a new {kind} in every call, which cannot be looked into.",
        "keep state in tensors, numbers, texts, or lists, tuples and dictionaries of them",
    ),
    "start": (
        ExportError,
        "{call} does not start from zeros: with {names} at zero its first call differs by {max_abs:.3g}.",
        "give the attribute its initial value as a tensor of its final shape when the module is made",
    ),
    "disagrees": (
        ExportError,
        "The exported program does not do what the module does: {first} differs, at most by {max_abs:.3g}.",
        "call eval() on the module first; keep state in attributes of modules, and reset all of it in reset",
    ),
    "variant_change": (
        ExportError,
        "When the variant or method changes, the module neither resets nor carries all of its state: "
        "{first} differs, at most by {max_abs:.3g}.",
        "export the variants to one file each, or reset the state whenever the variant changes",
    ),
    "no_variant": (
        UsageError,
        "No variant takes {call}; there are: {known}.",
        "pass arguments of one of these dtypes, shapes and values",
    ),
}
