"""Messages of ``accelerator``: what: (class, message, hint)."""

from __future__ import annotations

from ._base import CaptureError, OstinatoError, ReplayError, UsageError

MESSAGES: dict[str, tuple[type[OstinatoError], str, str]] = {
    # what a capture refuses
    "synchronises": (
        CaptureError,
        "{op} at {where} reads the value of a tensor back to Python, and a capture has no value to give: "
        "every replay may compute another.",
        "keep it outside the capture, or choose between tensors with torch.where",
    ),
    "optimizer_reads": (
        CaptureError,
        "{optimizer}.step() at {where} reads the value of a tensor, such as its step count or a learning "
        "rate, back to Python, and a capture has no value to give.",
        "use SGD, Adam, AdamW or Adagrad with fused=True, or SGD, RMSprop, Adadelta or Rprop with a number "
        "for lr",
    ),
    "optimizer_counts": (
        CaptureError,
        "{optimizer}.step() changed a number of Python in its state ({name}); every replay would be the same "
        "step again.",
        "keep the number in a tensor that the step changes in place",
    ),
    "higher_order": (
        CaptureError,
        "{op} at {where} runs functions in a way that no node of a graph can.",
        "call the functions themselves, or keep it outside the capture",
    ),
    "predicate": (
        CaptureError,
        "The condition at {where} decides by a tensor of shape {shape}, which is not one element.",
        "reduce it to one element, for example with .all() or .any()",
    ),
    "branches_differ": (
        CaptureError,
        "The two branches of the condition at {where} return different {what}: {first} if true, {second} if "
        "false.",
        "make them return tensors of the same structure, dtype, shape and strides",
    ),
    "branch_writes": (
        CaptureError,
        "A branch of the condition at {where} changes in place a tensor of shape {shape} that was there "
        "before and whose gradient autograd follows.",
        "return the new value from both branches, or change it under torch.no_grad()",
    ),
    "branch_source": (
        CaptureError,
        "A branch of the condition at {where} needs the gradient of a tensor that it does not name, or whose "
        "own .grad is retained.",
        "pass the tensor among the operands, without retain_grad()",
    ),
    "branch_custom": (
        CaptureError,
        "The condition at {where} uses two tensors whose gradients are asked for, and one was computed from "
        "the other by an autograd.Function.",
        "let the branches use one of them, or compute what they need from the other before the condition",
    ),
    "left_body": (
        CaptureError,
        "{op} at {where} uses a tensor that a branch or loop body made and did not return: where the body "
        "does not run, it holds nothing.",
        "return the tensor from the body, from both branches of a condition",
    ),
    "loop_number": (
        CaptureError,
        "The loop at {where} carries {value!r}, and a graph carries tensors from one round to the next.",
        "carry a tensor, such as torch.tensor(0)",
    ),
    "loop_results": (
        CaptureError,
        "The body of the loop at {where} returns {got}, and the loop carries {want}.",
        "return one tensor for each that is carried, of the same dtype and shape",
    ),
    "loop_grad": (
        CaptureError,
        "The loop at {where} carries a tensor that requires a gradient, and how much memory its backward "
        "needs is known only when it has run.",
        "run it under torch.no_grad(), or write a fixed number of rounds with torch.cond in each",
    ),
    "endless": (
        CaptureError,
        "The test of the loop at {where} is true whatever the tensors hold.",
        "compute the test from the carried tensors",
    ),
    "conditional_nodes": (
        CaptureError,
        "{op} at {where} cannot be a conditional node of the graph with this torch: {reason}.",
        "choose between tensors with torch.where, or capture the branches as graphs of their own",
    ),
    "device_refused": (
        CaptureError,
        "The runtime of {device} did not accept the capture: {reason}",
        "look for a call that waits for the device inside the capture, and move it out",
    ),
    "reads_memory": (
        CaptureError,
        "Tensor.{what} at {where} reads the memory of a tensor, and a replay could not repeat that.",
        "call it outside the capture, after g.replay()",
    ),
    "data_dependent_shape": (
        CaptureError,
        "{op} at {where} makes a tensor whose shape depends on data, and the shapes of a graph are fixed.",
        "use a form with a fixed shape (torch.where, nonzero_static, a mask that multiplies), "
        "or keep it outside the capture",
    ),
    "rebinds": (
        CaptureError,
        "{op} at {where} gives a tensor other memory, and a graph uses tensors by address.",
        "use x.copy_(y) in place of rebinding, or rebind before the capture",
    ),
    "resizes": (
        CaptureError,
        "{op} at {where} changes the size of memory that was there before the capture.",
        "give the tensor its final size before the capture",
    ),
    "layout": (
        CaptureError,
        "{op} at {where} works on a tensor of layout {layout}, and a graph holds strided tensors only.",
        "convert it with to_dense(), or keep it outside the capture",
    ),
    "quantized": (
        CaptureError,
        "{op} at {where} works on a quantized tensor ({dtype}), which a graph does not hold.",
        "dequantize it before the capture",
    ),
    "device": (
        CaptureError,
        "{op} at {where} works on a tensor of device {device} inside a capture for the CPU.",
        "move it to the CPU before the capture",
    ),
    "no_storage": (
        CaptureError,
        "{op} at {where} works on a {kind} that has no memory of its own.",
        "keep it outside the capture",
    ),
    "hidden": (
        CaptureError,
        "{op} at {where} ran inside {type}.__torch_dispatch__ where no capture can see it.",
        "run it on plain tensors there (x.as_subclass(torch.Tensor)), or keep it outside the capture",
    ),
    "grad_bound": (
        CaptureError,
        "The backward pass in the capture gave {count} parameter(s) their first .grad (shape {shape} at "
        "first); every replay would make it anew and none would accumulate into it.",
        "run one warm-up step before the capture",
    ),
    "optimizer_state": (
        CaptureError,
        "{optimizer}.step() made its state inside the capture (first: {state}); every replay would be "
        "its first step again.",
        "run one warm-up step before the capture",
    ),
    "data_setter": (
        CaptureError,
        "Assigning to Tensor.{what} at {where} rebinds the tensor, and a graph uses tensors by address.",
        "use x.copy_(y), or assign before the capture",
    ),
    "argument_grad": (
        CaptureError,
        "A graphed callable writes to an argument what autograd follows, and no gradient could flow there "
        "through a replay.",
        "return the new value in place of writing it, or write it under torch.no_grad()",
    ),
    "drawn_again": (
        CaptureError,
        "The backward of a graphed callable goes back to a state that the random generator had in its "
        "forward, as checkpointing of a dropout does, and the two are graphs of their own.",
        "capture the whole step as one Graph, or leave what draws out of the checkpoint",
    ),
    "rebound": (
        CaptureError,
        "Each call of the module puts another object in the place of {name}, and a replay uses tensors by "
        "address.",
        "write into it in place, for example self.count.add_(1) for self.count = self.count + 1",
    ),
    # the life cycle
    "nested": (
        CaptureError,
        "A capture is under way on this thread already.",
        "end it first: captures on one stream do not nest",
    ),
    "replay_in_capture": (
        CaptureError,
        "A graph cannot be replayed inside a capture.",
        "call what the graph was captured from, or replay it outside",
    ),
    "busy": (
        CaptureError,
        "This graph is being captured by another thread.",
        "give each thread a graph of its own",
    ),
    "has_graph": (
        CaptureError,
        "This graph holds a capture already.",
        "call reset() before capturing again",
    ),
    "not_capturing": (
        CaptureError,
        "capture_end() was called without a capture under way.",
        "call capture_begin() first, or write `with g:`",
    ),
    "nothing_captured": (
        ReplayError,
        "{call}() was called on a graph that holds no capture.",
        "capture first: `with g: ...`",
    ),
    "not_kept": (
        ReplayError,
        "instantiate() was called on a graph that capture_end() has instantiated already.",
        "make the graph with keep_graph=True to instantiate it yourself",
    ),
    "step_failed": (
        ReplayError,
        "{op}, captured at {where}, failed at replay: {reason}",
        "the inputs of the graph hold values that this operator does not take",
    ),
    "memory_gone": (
        ReplayError,
        "A tensor that the graph uses has been freed, or resized to less than it had at the capture.",
        "keep the storages of parameters, buffers and inputs as they are, or capture again",
    ),
    "overwritten": (
        ReplayError,
        "The backward of a graphed callable came after a later call had overwritten its activations.",
        "run each backward before the next call, or use ost.accelerator.graphed, which makes one more graph",
    ),
    "replaced": (
        ReplayError,
        "{name} was replaced, moved to other memory or given another requires_grad after its module was "
        "graphed.",
        "write into it, as copy_() and load_state_dict() do, or graph the module anew",
    ),
    "debug_off": (
        ReplayError,
        "debug_dump() was called on a graph that keeps nothing to dump.",
        "call enable_debug_mode() before the capture",
    ),
    "replayed_elsewhere": (
        ReplayError,
        "This graph is being replayed by another thread.",
        "a graph has one set of buffers: give each thread a graph of its own",
    ),
    "copied": (
        UsageError,
        "A Graph cannot be copied or pickled: it uses tensors by their addresses in this process.",
        "capture again where the copy is used, or let ost.accelerator.graphed hold the graphs, whose copies "
        "capture anew",
    ),
    # arguments
    "numerics": (
        UsageError,
        "numerics={value!r} is neither 'exact' nor 'fast'.",
        "'exact' is bit for bit what eager gives, 'fast' may fuse and reassociate",
    ),
    "error_mode": (
        UsageError,
        "capture_error_mode={value!r} is none of 'default', 'global', 'thread_local', 'relaxed'.",
        "leave it out: on the CPU all of them mean 'thread_local'",
    ),
    "mode_lacking": (
        UsageError,
        "capture_error_mode={value!r} is not available on {device}: its runtime knows one mode only.",
        "leave it out, or pass 'default'",
    ),
    "pool": (
        UsageError,
        "pool={value!r} is no pool handle.",
        "take one from graph_pool_handle() or from another graph's pool()",
    ),
    "no_implementation": (
        UsageError,
        "No graph implementation is registered for device type {device!r} (known: {known}).",
        "register one with ost.accelerator.register_graph_impl",
    ),
    "interface": (
        UsageError,
        "{implementation} does not implement GraphImplInterface: it has no {missing}.",
        "subclass ost.accelerator.GraphImplInterface",
    ),
    "graphed_argument": (
        UsageError,
        "A graphed callable got an argument of type {type}, which cannot be part of a graph's signature.",
        "pass tensors, numbers, strings, None, and lists, tuples or dicts of them",
    ),
    "argument_shared": (
        UsageError,
        "A graphed callable writes to an argument that shares memory with another one.",
        "pass tensors with memory of their own, for example a clone()",
    ),
    "graphed_input": (
        UsageError,
        "A graphed callable got a tensor {got} where its sample was {want}.",
        "pass tensors of the sample's shape and dtype, or graph it for this shape too",
    ),
    "graphed_grad": (
        UsageError,
        "make_graphed_callables got sample arguments that {what}.",
        "{hint}",
    ),
}
