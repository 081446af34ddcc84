"""Models as ONNX graphs, which many programs run without Python.

The graph takes dense rows and gives what `LinearModel`'s methods give, of the same shapes. All
sums are in double precision: a row of thousands of features would cost single precision more
digits than it can spare.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.exports.export_input import ExportInput
from polyak.losses import get_loss
from polyak.losses.of_means import LARGEST_SCORE
from polyak.model.schema import Schema
from polyak.model.terms import Axis, Term
from polyak.optional_imports import needed
from polyak.rows.labels import exact_labels

OPSET, IR_VERSION = 13, 7
"""As old as the operators allow, so that runtimes of 2020 and later take the file."""

MOST_BYTES = 2**31 - 2**20
"""What a file of protocol buffers can hold."""

SPARE = 0.5
"""Below this share of features with a weight, the graph first picks their columns."""


def write(given: ExportInput, path: str) -> list[str]:
    """Write a model as an ONNX graph."""
    if path == "-":
        raise ValueError("an ONNX file is not text for standard output; name a file")
    from polyak.storage.container import write_bytes

    graph = build(given)
    write_bytes(path, graph.SerializeToString(deterministic=True))
    remarks = [] if given.columns else given.about_rows()
    if given.model.classes is not None and not has_probabilities(given):
        loss = given.model.loss
        remarks.append(f"this {loss} model knows no probabilities, so the graph gives none")
    return remarks


def build(given: ExportInput) -> Any:
    """Build the graph, as an ``onnx.ModelProto``."""
    onnx = needed("onnx", "onnx")
    model = given.model
    if model.weights.nbytes > MOST_BYTES:
        raise ValueError("an ONNX file holds 2 GB at most, and this model's weights are more")
    graph = _Graph(onnx)
    flat = _add_scores(graph, given)
    if model.classes is None:
        graph.output("prediction", _add_link(graph, given, flat), given.outputs)
    else:
        _add_label(graph, given, flat)
        if has_probabilities(given):
            _add_probabilities(graph, given)
        graph.output("scores", flat, given.outputs)
    schema = given.columns
    width = given.n_inputs if schema is None else len(schema.columns)
    dtype = model.weights.dtype if schema is None else np.float64
    rows = onnx.helper.make_tensor_value_info("X", graph.type_of(dtype), ["rows", width])
    proto = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, "polyak", [rows], graph.outputs, graph.constants),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        producer_name="polyak",
        doc_string=f"A linear model learned by polyak with the loss {model.loss}.",
        ir_version=IR_VERSION,
    )
    onnx.helper.set_model_props(proto, _facts(given))
    onnx.checker.check_model(proto)
    return proto


def has_probabilities(given: ExportInput) -> bool:
    """Whether a classifier can turn its scores into probabilities."""
    return given.model.loss == "log_loss" or given.model.sigmoids is not None


class _Graph:
    """Nodes and constants, as they are added."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outputs: list[Any] = []

    def type_of(self, dtype: Any) -> int:
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(self, name: str, value: NDArray[Any]) -> str:
        if value.dtype.kind in "UO":
            words = [str(word).encode() for word in value.tolist()]
            strings = self.onnx.TensorProto.STRING
            tensor = self.onnx.helper.make_tensor(name, strings, value.shape, words)
        else:
            tensor = self.onnx.numpy_helper.from_array(np.ascontiguousarray(value), name)
        self.constants.append(tensor)
        return name

    def double(self, source: str, output: str) -> str:
        return self.node("Cast", [source], output, to=self.type_of(np.float64))

    def output(self, name: str, source: str, columns: int, dtype: Any = np.float64) -> None:
        kind = self.onnx.TensorProto.STRING if dtype is str else self.type_of(dtype)
        shape = ["rows"] if columns == 1 else ["rows", columns]
        self.node("Identity", [source], name)
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))


def _add_scores(graph: _Graph, given: ExportInput) -> str:
    """Add ``raw``: rows times weights plus intercept, a column an output.

    Gives the name of the same without its second dimension where that is one.
    """
    terms, rows, of_terms = given.model.terms, "X", []
    if given.columns is not None:
        rows = _add_features(graph, given.columns)
    weights = given.model.weights[: given.n_inputs]
    if terms is not None:
        features = graph.double(rows, "features_double")
        of_terms = [
            _add_term(graph, term, given.model.weights[terms.features_of(k)], features, f"term{k}")
            for k, term in enumerate(terms.terms)
        ]
        weights = weights.copy()
        weights[list(terms.replaced)] = 0.0
    features, used = rows, np.flatnonzero(weights.any(axis=1))
    if len(used) < SPARE * len(weights):
        weights = weights[used]
        rows = graph.node("Gather", [rows, graph.constant("used", used)], "X_used", axis=1)
    product = graph.node(
        "MatMul",
        [
            graph.double(rows, "X_double"),
            graph.double(graph.constant("weights", weights), "weights_double"),
        ],
        "product",
    )
    total = graph.node("Sum", [product, *of_terms], "total_of_terms") if of_terms else product
    reach, intercept = given.model.reach, graph.constant("intercept", given.model.intercept)
    scores = graph.node("Add", [total, intercept], "raw" if reach is None else "any")
    if reach is not None:
        low, high = (
            graph.constant(name, end) for name, end in zip(("low", "high"), reach, strict=True)
        )
        if given.model.offset is not None:
            place = graph.constant("offset_place", np.array([given.model.offset]))
            offset = graph.node("Gather", [features, place], "of_rows", axis=1)
            offset = graph.double(offset, "of_rows_double")
            low, high = (graph.node("Add", [end, offset], f"{end}_moved") for end in (low, high))
        graph.node("Max", [graph.node("Min", [scores, high], "low_enough"), low], "raw")
    if given.outputs > 1:
        return "raw"
    return graph.node("Squeeze", ["raw", graph.constant("second", np.array([1]))], "flat")


def _add_term(graph: _Graph, term: Term, weights: NDArray[Any], features: str, name: str) -> str:
    """Add what a curve or a pair contributes to the scores, a column an output."""
    if len(term.axes) == 1:  # the values of a curve at its knots take the place of its basis
        (axis,) = term.axes
        return _add_axis(graph, axis, axis.values @ weights, features, name)
    a, b = (
        _add_axis(graph, axis, axis.values, features, f"{name}_{k}")
        for k, axis in enumerate(term.axes)
    )
    last, second = (graph.constant(f"{name}_axis{k}", np.array([k])) for k in (2, 1))
    left = graph.node("Unsqueeze", [a, last], f"{name}_left")
    right = graph.node("Unsqueeze", [b, second], f"{name}_right")
    products = graph.node("Mul", [left, right], f"{name}_products")
    shape = graph.constant(f"{name}_shape", np.array([-1, term.size]))
    flat = graph.node("Reshape", [products, shape], f"{name}_flat")
    return graph.node("MatMul", [flat, graph.constant(f"{name}_weights", weights)], name)


def _add_axis(graph: _Graph, axis: Axis, values: NDArray[Any], features: str, name: str) -> str:
    """Add functions of a column from their ``values`` at its knots or levels, a column each.

    Between knots they are linear: how far a row is within each segment, from 0 to 1, times the
    difference of the values at its ends. They are zero where the column is missing.
    """

    def gathered(some: tuple[int, ...], called: str) -> str:
        places = graph.constant(f"{name}_{called}_places", np.array(some))
        return graph.node("Gather", [features, places], f"{name}_{called}", axis=1)

    zero = graph.constant(f"{name}_zero", np.zeros(1))
    if not axis.knots:
        found = gathered(axis.features, "levels")
        level = graph.node("ArgMax", [found], f"{name}_level", axis=1, keepdims=0)
        table = graph.constant(f"{name}_values", values)
        chosen = graph.node("Gather", [table, level], f"{name}_chosen")
        most = graph.node("ReduceMax", [found], f"{name}_most", axes=[1], keepdims=1)
        there = graph.node("Greater", [most, zero], f"{name}_there")
        return graph.node("Mul", [chosen, graph.double(there, f"{name}_factor")], f"{name}_f")
    knots = np.array(axis.knots)
    x = gathered(axis.features[:1], "x")
    past = graph.node("Sub", [x, graph.constant(f"{name}_knots", knots[:-1])], f"{name}_past")
    widths = graph.constant(f"{name}_widths", np.diff(knots))
    share = graph.node("Div", [past, widths], f"{name}_share")
    ends = [graph.constant(f"{name}_{end}", np.array(float(end))) for end in (0, 1)]
    within = graph.node("Clip", [share, *ends], f"{name}_within")
    steps = graph.constant(f"{name}_steps", np.diff(values, axis=0))
    risen = graph.node("MatMul", [within, steps], f"{name}_risen")
    value = graph.node("Add", [risen, graph.constant(f"{name}_first", values[0])], f"{name}_f")
    if len(axis.features) == 1:
        return value
    there = graph.node("Equal", [gathered(axis.features[1:], "missing"), zero], f"{name}_there")
    return graph.node("Where", [there, value, zero], f"{name}_kept")


def _add_features(graph: _Graph, schema: Schema) -> str:
    """Add what reading a table does to columns of numbers, where NaN stands for what is missing.

    Its result has each column, centred and scaled, and then whether it is missing.
    """
    offsets = np.array([column.offset for column in schema.columns])
    scales = np.array([column.scale for column in schema.columns])
    centred = graph.node("Sub", ["X", graph.constant("offsets", offsets)], "centred")
    scaled = graph.node("Div", [centred, graph.constant("scales", scales)], "units")
    missing = graph.node("IsNaN", ["X"], "missing")
    filled = graph.node("Where", [missing, graph.constant("absent", np.zeros(1)), scaled], "filled")
    parts = [filled, graph.double(missing, "missing_double")]
    deep = graph.constant("deep", np.array([2]))
    paired = [graph.node("Unsqueeze", [part, deep], f"{part}_deep") for part in parts]
    stacked = graph.node("Concat", paired, "stacked", axis=2)
    shape = graph.constant("shape", np.array([-1, 2 * len(schema.columns)]))
    return graph.node("Reshape", [stacked, shape], "features")


def _add_link(graph: _Graph, given: ExportInput, flat: str) -> str:
    """Add what the loss's ``predictions`` does: an exponential, or quantiles in order."""
    loss = get_loss(given.model.loss)
    if loss.log_link:
        largest = graph.constant("largest_score", np.array(LARGEST_SCORE))
        return graph.node("Exp", [graph.node("Min", [flat, largest], "bounded")], "mean")
    if loss.outputs > 1:
        count = graph.constant("quantiles", np.array([given.outputs]))
        graph.nodes.append(
            graph.onnx.helper.make_node(
                "TopK", [flat, count], ["rising", "places"], axis=1, largest=0, sorted=1
            )
        )
        return "rising"
    return flat


def _add_label(graph: _Graph, given: ExportInput, flat: str) -> None:
    labels = exact_labels(np.asarray(given.model.classes))
    if given.outputs == 1 or given.model.multilabel:
        zero = graph.constant("zero", np.zeros(1))
        above = graph.node("Greater", [flat, zero], "is_second")
        best = graph.node("Cast", [above], "best", to=graph.type_of(np.int64))
        if given.model.multilabel:
            graph.output("label", best, given.outputs, np.int64)
            return
    else:
        best = graph.node("ArgMax", ["raw"], "best", axis=1, keepdims=0)
    named = graph.node("Gather", [graph.constant("classes", labels), best], "named")
    graph.output("label", named, 1, str if labels.dtype.kind in "UO" else labels.dtype)


def _add_probabilities(graph: _Graph, given: ExportInput) -> None:
    """Add what `LinearModel.proba_from_scores` does."""
    odds, model, classes = "raw", given.model, len(given.model.classes)  # type: ignore[arg-type]
    if model.loss != "log_loss" and model.sigmoids is not None:
        slope = graph.constant("slope", model.sigmoids[:, 0])
        scaled = graph.node("Mul", [odds, slope], "scaled")
        odds = graph.node("Add", [scaled, graph.constant("offset", model.sigmoids[:, 1])], "odds")
    if model.softmax:
        graph.output("probabilities", graph.node("Softmax", [odds], "shares", axis=1), classes)
        return
    positive = graph.node("Sigmoid", [odds], "positive")
    if model.multilabel:
        graph.output("probabilities", positive, classes)
        return
    if given.outputs == 1:
        negative = graph.node("Sigmoid", [graph.node("Neg", [odds], "against")], "negative")
        both = graph.node("Concat", [negative, positive], "both", axis=1)
        graph.output("probabilities", both, classes)
        return
    axis = graph.constant("classes_axis", np.array([1]))
    total = graph.node("ReduceSum", [positive, axis], "total", keepdims=1)
    none = graph.constant("none", np.zeros(1))
    possible = graph.node("Greater", [total, none], "possible")
    one = graph.constant("one", np.ones(1))
    safe = graph.node("Where", [possible, total, one], "safe_total")
    shares = graph.node("Div", [positive, safe], "shares")
    even = graph.constant("even", np.full(1, 1.0 / classes))
    chosen = graph.node("Where", [possible, shares, even], "chosen")
    graph.output("probabilities", chosen, classes)


def _facts(given: ExportInput) -> dict[str, str]:
    import json
    from importlib.metadata import version

    from polyak.storage.container import plain

    facts = {"polyak": version("polyak"), "loss": given.model.loss}
    if given.schema is not None:
        facts["schema"] = json.dumps(plain(given.schema))
        facts["columns"] = json.dumps([column.name for column in given.schema.columns])
    if given.names is not None:
        whole = len(given.names) == given.n_inputs
        named = list(given.names.values()) if whole else given.names
        facts["feature_names"] = json.dumps(named)
    return facts
