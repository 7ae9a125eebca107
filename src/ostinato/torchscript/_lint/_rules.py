"""The table of rules: what is found, how bad it is, and what to do instead.

A name is a dotted path as Python resolves it. A trailing ``*`` stands for any rest; ``ScriptModule()`` is
what `MAKERS` return; ``?.`` is any object. docs/reference/lint.md is made of this table.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """One rule; its severity is error (TorchScript itself), warning (needs it) or note (a leftover)."""

    id: str
    title: str
    severity: str
    names: tuple[str, ...]
    replacement: str
    explanation: str
    fix: str = ""  # what --fix does, "" where nothing


# What returns a module or function of TorchScript.
MAKERS = frozenset(
    "torch.jit." + name
    for name in ("script", "trace", "trace_module", "load", "freeze", "optimize_for_inference")
    + ("run_frozen_optimizations", "jit_module_from_flatbuffer")
)
MADE = "torch.jit.ScriptModule()"


def _under(prefix: str, names: str) -> tuple[str, ...]:
    return tuple(prefix + name for name in names.split())


RULES = (
    Rule(
        "OST100",
        "imports TorchScript without using it",
        "note",
        (),
        "remove the import",
        "What the import brings is used nowhere in the file: a leftover, or it is re-exported.",
        "removes the import, unless others may take the name from here",
    ),
    Rule(
        "OST101",
        "compiles to TorchScript",
        "error",
        _under("torch.jit.", "script"),
        "remove it and run plain Python; torch.compile for speed, torch.export or ost.export.save for a file",
        "torch.jit.script is deprecated, and not supported on Python 3.14 and later.",
        "removes the decorator from functions and classes that do the same as plain Python",
    ),
    Rule(
        "OST102",
        "traces to TorchScript",
        "error",
        _under("torch.jit.", "trace trace_module TracedModule TopLevelTracedModule ONNXTracedModule"),
        "torch.export.export(module, args), or ost.export.save(module, path, args)",
        "A trace keeps the branch that the example took. torch.export says where a branch depends on data.",
    ),
    Rule(
        "OST103",
        "loads a TorchScript archive",
        "error",
        _under("torch.jit.", "load jit_module_from_flatbuffer"),
        "ost.torchscript.load(path), or once and for all: ostinato convert ARCHIVE -o model.pt2",
        "ost.torchscript.load gives the archive as an ordinary nn.Module, and needs no torch.jit.",
        "ost.torchscript.load(path), with the import; only with --unsafe-fixes, as the result has no .save",
    ),
    Rule(
        "OST104",
        "saves a TorchScript archive",
        "error",
        (
            *_under("torch.jit.", "save save_jit_module_to_flatbuffer"),
            *_under(MADE + ".", "save save_to_buffer"),
        ),
        "ost.export.save(module, path, args), or torch.export.save",
        "New archives tie their readers to TorchScript. A .pt2 file holds the program in a form that stays.",
    ),
    Rule(
        "OST105",
        "optimizes with TorchScript",
        "error",
        _under(
            "torch.jit.",
            "freeze optimize_for_inference run_frozen_optimizations optimized_execution fuser "
            "set_fusion_strategy strict_fusion enable_onednn_fusion onednn_fusion_enabled "
            "last_executed_optimized_graph",
        ),
        "torch.compile, or ost.deploy, which freezes weights and fuses",
        "These act on the executor of TorchScript alone.",
    ),
    Rule(
        "OST106",
        "is a class of TorchScript",
        "error",
        (
            *_under("torch.jit.", "ScriptModule ScriptFunction RecursiveScriptModule RecursiveScriptClass"),
            *_under("torch.", "jit.CompilationUnit CompilationUnit ScriptModule ScriptFunction ScriptMethod"),
        ),
        "torch.nn.Module, or torch.export.ExportedProgram for a program in a file",
        "Nothing that replaces TorchScript gives an object of these classes: a check for one is never true.",
        "a base class ScriptModule becomes torch.nn.Module; only with --unsafe-fixes",
    ),
    Rule(
        "OST107",
        "compiles a method to TorchScript",
        "error",
        _under("torch.jit.", "script_method"),
        "remove it, and derive the class from torch.nn.Module",
        "The decorator works in a ScriptModule alone.",
        "removes the decorator; only with --unsafe-fixes, since it goes together with the base class",
    ),
    Rule(
        "OST108",
        "starts tasks through TorchScript",
        "warning",
        _under(
            "torch.jit.", "fork wait Future _fork _wait _awaitable _awaitable_wait _awaitable_nowait _Await"
        ),
        "call the function; concurrent.futures where it must run beside others",
        "Outside TorchScript fork calls the function at once, and nothing runs in parallel.",
    ),
    Rule(
        "OST109",
        "is compiled when traced",
        "error",
        _under("torch.jit.", "script_if_tracing _script_if_tracing"),
        "remove it; torch.cond or torch.while_loop where data decide in a program that is exported",
        "The decorator matters to torch.jit.trace and to the ONNX exporter that is built on it.",
        "removes the decorator, if nothing in the files linted traces",
    ),
    Rule(
        "OST110",
        "marks a method for TorchScript",
        "note",
        _under("torch.jit.", "export export_opnames"),
        "remove it; ost.export.trace_stateful and save_methods write several methods",
        "Python ignores the mark.",
        "removes the decorator, if nothing in the files linted is compiled to TorchScript",
    ),
    Rule(
        "OST111",
        "hides code from TorchScript",
        "note",
        (
            *_under("torch.jit.", "ignore unused _drop _IgnoreContextManager"),
            *_under("?.", "__jit_unused_properties__ __jit_ignored_attributes__"),
        ),
        "remove it; torch.compiler.disable where torch.compile must not look inside",
        "Python ignores the mark.",
        "removes the decorator, if nothing in the files linted is compiled to TorchScript",
    ),
    Rule(
        "OST112",
        "tells TorchScript a type",
        "note",
        _under("torch.jit.", "annotate"),
        "an annotation: x: list[Tensor] = []",
        "Outside TorchScript torch.jit.annotate(T, x) is x.",
        "x: T = value where it is the value of a variable, else the value alone",
    ),
    Rule(
        "OST113",
        "tells TorchScript that an attribute is constant",
        "note",
        ("torch.jit.Final", "?.__constants__"),
        "typing.Final, which is the same object; remove __constants__",
        "torch.jit.Final is typing.Final. Nothing but TorchScript reads __constants__ of a class.",
        "typing.Final, with the import",
    ),
    Rule(
        "OST114",
        "tells TorchScript the type of an attribute",
        "warning",
        _under("torch.jit.", "Attribute"),
        "the value alone, and an annotation in the class body",
        "Outside a ScriptModule the attribute is a pair of the value and its type.",
    ),
    Rule(
        "OST115",
        "declares an interface for TorchScript",
        "warning",
        _under("torch.jit.", "interface"),
        "typing.Protocol",
        "Python ignores the mark.",
        "removes the decorator, if nothing in the files linted is compiled to TorchScript",
    ),
    Rule(
        "OST116",
        "asks whether TorchScript compiles this",
        "note",
        _under("torch.jit.", "is_scripting"),
        "keep the branch of plain Python; torch.compiler.is_compiling() asks about torch.compile",
        "Outside TorchScript it is False.",
        "keeps the branch that Python takes, if nothing in the files linted is compiled to TorchScript",
    ),
    Rule(
        "OST117",
        "asks whether TorchScript traces this",
        "warning",
        (
            *_under("torch.jit.", "is_tracing _trace.is_tracing"),
            *_under("torch._C.", "_get_tracing_state _is_tracing _set_tracing_state"),
        ),
        "torch.compiler.is_compiling() or is_exporting(), which torch.export sets",
        "torch.export and the new ONNX exporter do not trace by torch.jit: it is False under them.",
    ),
    Rule(
        "OST118",
        "refines a type for TorchScript",
        "warning",
        _under("torch.jit.", "isinstance _isinstance _unwrap_optional"),
        "isinstance; look at the elements where a list's or a dict's matter",
        "Only TorchScript needs types of elements in such a test.",
    ),
    Rule(
        "OST119",
        "uses torch.jit",
        "warning",
        ("torch.jit", "torch.jit.*"),
        "see the guide: docs/guides/from_torch_jit.md",
        "Anything else of the public module: its warnings and errors, the module passed on as a value.",
    ),
    Rule(
        "OST120",
        "uses what is private to torch.jit",
        "warning",
        ("torch.jit._*", "torch.jit.frontend*", "torch.jit.mobile*", "torch.testing._internal.jit_utils*"),
        "torch.export and torch.fx to look at programs, typing.overload for overloads",
        "Private names of TorchScript change without notice, and go with it.",
    ),
    Rule(
        "OST121",
        "uses the internals of torch.jit",
        "warning",
        ("torch._jit_internal*", "torch.jit.annotations*"),
        "typing, typing.overload, or remove it",
        "The module exists for the compiler of TorchScript.",
    ),
    Rule(
        "OST122",
        "uses the C++ side of TorchScript",
        "warning",
        (
            "torch._C._jit_*",
            *_under(
                "torch._C.",
                "ScriptModule ScriptFunction ScriptMethod ScriptClass ScriptList ScriptDict "
                "ScriptModuleSerializer CompilationUnit LiteScriptModule GraphExecutorState "
                "ConcreteModuleType Graph Node Value Block "
                "parse_ir import_ir_module import_ir_module_from_buffer _freeze_module "
                "_create_graph_by_tracing _create_function_from_trace _create_function_from_graph "
                "_get_graph_executor_optimize _set_graph_executor_optimize _last_executed_optimized_graph "
                "_load_jit_module_from_file _load_jit_module_from_bytes "
                "_save_jit_module _save_jit_module_to_bytes",
            ),
        ),
        "torch.fx and torch.export to look at programs; remove switches of the executor",
        "Private bindings of the compiler, the executor and the graphs of TorchScript.",
    ),
    Rule(
        "OST123",
        "gives types in a comment, which only TorchScript reads",
        "note",
        (),
        "annotations",
        "Written for TorchScript: reported in files that use torch.jit, and where it names Tensor.",
        "annotations, where every name in the comment is known in the file",
    ),
    Rule(
        "OST124",
        "looks inside a module of TorchScript",
        "warning",
        _under(
            MADE + ".",
            "graph inlined_graph graph_for code code_with_constants forward_magic_method original_name",
        ),
        "torch.export.export(module, args).graph; ost.torchscript.source(path) for the code of an archive",
        "The graph and code of TorchScript.",
    ),
    Rule(
        "OST130",
        "optimizes for the mobile interpreter",
        "error",
        ("torch.utils.mobile_optimizer*",),
        "ost.export.to_executorch, or ExecuTorch itself",
        "PyTorch Mobile is at its end; ExecuTorch took its place.",
    ),
    Rule(
        "OST131",
        "reads or writes files of the lite interpreter",
        "error",
        (
            *_under("torch.jit.", "mobile._load_for_lite_interpreter _load_for_lite_interpreter"),
            *_under("torch._C.", "_load_for_lite_interpreter _load_for_lite_interpreter_from_buffer"),
            *_under("?.", "_save_for_lite_interpreter _save_to_buffer_for_lite_interpreter"),
        ),
        "ost.export.to_executorch to write, ost.torchscript.load to read what is there",
        "PyTorch Mobile is at its end; ExecuTorch took its place.",
    ),
    Rule(
        "OST132",
        "bundles inputs into a TorchScript archive",
        "warning",
        ("torch.utils.bundled_inputs*",),
        "ost.export.save(module, path, args) describes the inputs; torch.save(args, path) keeps them",
        "The module adds methods in TorchScript to the archive.",
    ),
    Rule(
        "OST133",
        "quantizes a module of TorchScript",
        "error",
        tuple(
            prefix + name
            for prefix in ("torch.ao.quantization.", "torch.quantization.")
            for name in (
                "quantize_jit*",
                "prepare_jit",
                "convert_jit",
                "quantize_dynamic_jit",
                "prepare_dynamic_jit",
            )
            + ("convert_dynamic_jit", "fuse_conv_bn_jit")
        ),
        "ost.mx.quantize_(module, ost.mx.mxfp8_e4m3), or torchao",
        "Quantization by passes over a graph of TorchScript.",
    ),
    Rule(
        "OST134",
        "reads a TorchScript archive with a tool of torch",
        "warning",
        ("torch.utils.model_dump*", "torch.backends._nnapi*"),
        "ostinato inspect ARCHIVE; ost.export.to_executorch for a phone",
        "The tool takes TorchScript alone.",
    ),
    Rule(
        "OST140",
        "exports a Lightning module to TorchScript",
        "error",
        ("?.to_torchscript",),
        "ost.export.save(module, path, args), or torch.export.export(module, args)",
        "LightningModule.to_torchscript scripts or traces the module.",
    ),
    Rule(
        "OST141",
        "exports to ONNX through TorchScript",
        "warning",
        (
            "torch.onnx.export",
            *_under(
                "torch.onnx.", "register_custom_op_symbolic unregister_custom_op_symbolic symbolic_helper*"
            ),
            *_under("torch.onnx.", "utils* symbolic_opset*"),
        ),
        "torch.onnx.export(…, dynamo=True), and custom_translation_table for operators of your own",
        "The old exporter traces with torch.jit. A call of export is reported if it says dynamo=False.",
        "dynamo=True; only with --unsafe-fixes",
    ),
    Rule(
        "OST150",
        "C++: loads or saves a TorchScript archive",
        "error",
        ("torch::jit::load", "torch::jit::import_*", "torch::jit::export_module", "torch::jit::ExportModule"),
        "torch::inductor::AOTIModelPackageLoader on a .pt2 of AOTInductor, or ExecuTorch",
        "libtorch's reader of archives is the interpreter of TorchScript.",
    ),
    Rule(
        "OST151",
        "C++: uses torch::jit",
        "warning",
        ("torch::jit", "torch::jit::*"),
        "torch::inductor::AOTIModelPackageLoader, or ExecuTorch's Module",
        "Modules, graphs and passes of TorchScript.",
    ),
    Rule(
        "OST152",
        "C++: includes TorchScript",
        "warning",
        ("torch/script.h", "torch/jit.h", "torch/csrc/jit/*", "torch/csrc/api/include/torch/jit.h"),
        "torch/torch.h for tensors and modules, torch/library.h for operators",
        "torch/script.h brings in all of TorchScript.",
    ),
    Rule(
        "OST153",
        "C++: uses the mobile interpreter",
        "error",
        ("torch::jit::mobile*", "torch::jit::_load_for_mobile", "torch::jit::_save_for_mobile"),
        "ExecuTorch's Module on a .pte that ost.export.to_executorch wrote",
        "PyTorch Mobile is at its end; ExecuTorch took its place.",
    ),
)
