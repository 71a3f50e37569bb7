"""What errors, warnings, notes and logs put into their text is public by kind, in all code that runs with rows open.

Two nets hold besides this one: whatever is raised with rows open leaves as one constant text (`test_error_uniform`),
and canaries are looked for in everything that leaves (`test_canary`, `test_service_canary`). This check keeps cells out
of the texts themselves, so that no debugger, no log and no new way out can show one.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.contracts.test_house import trees

OPEN = (
    "data/",
    "methods/",
    "kernels/",
    "mechanisms/",
    "discreet_service/worker/",
    "workflow/request",
    "workflow/delivery",
)
"""Where code runs with rows open."""
CLOSED = (
    "data/formats/",
    "data/metadata",
    "data/derived_bounds",
    "data/expressions",
    "data/intervals",
    "data/lint",
    "data/skeleton",
    "data/dummy",
    "data/yaml_text",
    "data/public_",
    "methods/answers/",
)
"""Among it, what sees declared metadata, headers, public records and releases alone."""

KINDS = {
    "names of columns": "name names target candidates",
    "parameters": "confidence delta epsilon family gamma how k model_penalty noise q radius range_sensitivity rate "
    "ridge rows_per_unit share sizes step tau",
    "numbers of columns, models and draws that were asked for": "d n_cells n_features n_models n_numbers n_rows units",
    "declared bounds": "half lower upper",
    "what somebody named: files, data sets, requests": "path place source dataset id_ id",
    "types": "__name__",
    "fields of our own classes": "cls field_name",
}
PUBLIC = frozenset(" ".join(KINDS.values()).split())

ONE_BY_ONE = {
    "data/adjusted_design.py": "exposure get offset role shown: names of columns and what each is asked to be",
    "data/columns.py": "column count missing problem: declared in the metadata",
    "data/design.py": "twice y_bound y_center: parameters, and a name that was asked for",
    "data/engine.py": "count match matched: declared features, and how many of the header have such names",
    "data/engines/arrays.py": "called ndim pair shown: names of columns, and how many arrays and dimensions there are",
    "data/engines/file_table.py": "listed: names of tables",
    "data/engines/parquet.py": "_name args: the name of a file, and of a column of its header",
    "data/engines/parquet_files.py": "link shown: the name of a file, never of a folder, and the address given",
    "data/engines/spark_plan.py": "bad table: the name of a step of a plan, as Spark has it, and of the table",
    "data/engines/spark_session.py": "others own: versions of software",
    "data/engines/sql_catalog.py": "listed requested: names of tables that the role may read, and the one asked for",
    "data/engines/sql_session.py": "reason: words of the code, chosen by those of the library",
    "data/halves.py": "counted size: a public number of rows or of units, and what it is called",
    "data/header.py": "missing more problem shown_type: a storage type without what is inside, a name that differs in "
    "case alone, and names of declared columns and how many they are",
    "data/long_table.py": "complaint: what data/storage_types.py says",
    "data/score_design.py": "level shown y_bound y_center: parameters, and declared levels",
    "data/sources.py": "endings lack: words of the code",
    "data/storage_types.py": "problem: declared levels, and a storage type without what is inside",
    "methods/base/known_columns.py": "label labels missing: names of columns and levels with declared moments",
    "methods/registry.py": "allowed meant parameter: names of methods, and of the parameter that names one",
    "kernels/public_records/m_estimates.py": "_called array2string expected shape: a contrast's own name, shapes, "
    "and parameters at "
    "which somebody's own function failed; with private rows open, the constant text stands in its place",
    "mechanisms/additive.py": "exact_scale purpose scale: the scale, and the name of a parameter",
    "mechanisms/cube.py": "log purpose size: the scale, its least size, and the name of a parameter",
    "mechanisms/threshold.py": "absent_weight max_size sensitivity threshold: parameters",
    "mechanisms/quantile.py": "quantile: which quantile",
    "mechanisms/top_k.py": "size value: the number of scores, and the sensitivity",
    "methods/base/candidates.py": "field meant problem: a parameter's name, and names of columns",
    "methods/base/method.py": "_refusal: parameters, as they were given and as they must be",
    "methods/public_records/hybrid_published.py": "m: number of public points",
    "methods/public_records/m_estimation.py": "error value: a parameter",
    "methods/subset_selection/model_space.py": "fits most: numbers of models and columns",
    "methods/moments/moment_answers.py": "unknown: names that were asked for",
    "methods/public_records/objective.py": "error: what kernels/public_records/m_estimates.py says",
    "methods/subset_selection/pcpl.py": "most plain squares_share: parameters",
    "methods/regression/canonical_link.py": "role: a parameter's name",
    "methods/regression/linear.py": "roles: a parameter's name",
    "methods/regression/objective_perturbation.py": "_too_small high: says epsilon; a declared bound",
    "methods/public_records/public_subset.py": "most: number of public points",
    "methods/base/request_facts.py": "reference reference_name size: declared bounds and parameters, and what they are "
    "called",
    "methods/screening/decorrelated_columns.py": "unknown: a name of the request",
    "methods/screening/decorrelated_plan.py": "shares unknown why: names of parameters, and words of the code",
    "methods/screening/decorrelated_scores.py": "width: the number of columns, by public levels",
    "methods/screening/sis.py": "association: a parameter, one of four words",
    "methods/screening/screener.py": "advice there_are: words of the code, and a number of candidates",
    "methods/plan_steps.py": "fitting plain set shown: names and values of parameters",
    "methods/select_then_fit.py": "misplaced: names and values of parameters",
    "methods/moments/moments_selection.py": "private stated: names of declared columns, and declared moments",
    "methods/subset_selection/tuning_plan.py": "named total: shares of epsilon",
    "workflow/delivery.py": "error: for the log that the owner of the rows asked for, and nobody else",
}
"""Names that say too little, by the file where they stand, and what they are there."""

PASSES_ON = frozenset(
    {"float", "how_to_declare", "iter", "join", "list", "lower", "max", "min", "next", "repr", "shown", "str"}
)


def spoken(tree: ast.AST) -> Iterator[ast.expr]:
    """Arguments of errors that are raised, and of calls that write a text."""
    for node in ast.walk(tree):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call):
            continue
        name = ast.unparse(call.func)
        writes = name in ("log", "print", "warn") or name.startswith(("logg", "sys.std", "warnings.", "traceback."))
        if isinstance(node, ast.Raise) or writes or name.endswith(".add_note"):
            yield from (*call.args, *(keyword.value for keyword in call.keywords))


def words(value: ast.AST) -> set[str]:
    """The names that a text shows: what they are called last, without what passes them on."""
    match value:
        case ast.Constant():
            return set()
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return set() if name.isupper() else {name}
        case ast.Subscript(value=inner) | ast.FormattedValue(value=inner) | ast.Starred(value=inner):
            return words(inner)
        case ast.IfExp(body=one, orelse=other):
            return words(one) | words(other)
        case ast.Call(func=ast.Name(id=name), args=given) if name in PASSES_ON | {"len"}:
            return set().union(*map(words, given))
        case ast.Call(func=ast.Attribute(attr=name, value=inner), args=given) if name in PASSES_ON:
            return words(inner).union(*map(words, given))
        case ast.Call(func=func):
            return words(func)
    return set().union(*map(words, ast.iter_child_nodes(value)))


def shown(tree: ast.AST) -> set[str]:
    """Every name that a text of a module shows and that is not public by kind."""
    return set().union(*map(words, spoken(tree))) - PUBLIC


def test_no_text_shows_what_could_be_a_cell():
    """Names of columns, parameters, declared bounds and types; what else is shown is listed, with its reason."""
    with_rows = [place for place in trees() if place.startswith(OPEN) and not place.startswith(CLOSED)]
    texts = {place: shown(trees()[place]) for place in with_rows}
    listed = {place: text.partition(": ") for place, text in ONE_BY_ONE.items()}
    assert all(reason for _, _, reason in listed.values())
    names = {place: set(words.split()) for place, (words, _, _) in listed.items()}
    assert {place: each for place, each in texts.items() if each} == names


@pytest.mark.parametrize(
    "line",
    [
        "raise ValueError(f'could not read {cell!r}')",
        "raise ValueError('could not read %s' % cells[3])",
        "raise ValueError('could not read {}'.format(batch['age'][0]))",
        "raise ValueError('could not read ' + str(y.max()))",
        "raise ValueError(values)",
        "raise DataMismatchError(message=str(error))",
        "raise ValueError(f'{len(kept_rows)} rows are left')",
        "raise ValueError(f'{rows!r:>20}')",
        "raise ValueError(f'{X.shape} does not fit')",
        "log('failed', kind=str(error))",
        "print(weights.tolist())",
        "warnings.warn(f'{gram[0, 0]} is odd')",
        "error.add_note(f'in row {row}')",
        "logging.getLogger('x').info('%s', theta)",
        "logger.warning(theta)",
        "sys.stderr.write(repr(rows))",
    ],
)
def test_a_cell_in_a_text_is_seen(line):
    """Control: whatever way a text takes a value of the rows, it is found."""
    assert shown(ast.parse(line))


@pytest.mark.parametrize(
    "line",
    [
        "raise ValueError(f'column {name[:60]!r} must lie in {self.lower:g} .. {self.upper:g}')",
        "raise ValueError(f'{len(names)} columns must be at most {MOST}')",
        "raise ValueError(f'it is a {type(frame).__name__}')",
        "log('waiting', kind=type(error).__name__)",
    ],
)
def test_public_kinds_may_be_shown(line):
    """Control: what is public by kind is not."""
    assert not shown(ast.parse(line))
