"""Releases made by hand, one for each kind that a report must get right."""

from typing import Any

from discreet.accounting.neighbors import NeighboringRelation
from discreet.release import (
    GuaranteeRecord,
    LedgerRecord,
    NoiseRecord,
    Provenance,
    PublicColumn,
    Release,
)

HOSTILE = (
    "<script>alert(1)</script>",
    "a|b",
    "`code`",
    "line\nbreak\r\x1b[31mred",
    "[x](javascript:alert(1))",
    '" onload="alert(1)',
    "<img src=x onerror=alert(1)>",
    "=HYPERLINK(1)",
    "right\u202eleft",
    "http://evil.example/x",
    "{{ 7 * 7 }}{% raw %}",
    '&amp; \' role="x" </svg> ]]>',
    "\u5217" * 60,
    "x" * 300,
    "# - * _a_ ~~b~~ \\",
)

MECHANISMS = {"exponential": "permute_and_flip", "gumbel": "exponential", "laplace": "laplace"}


def make(
    names: tuple[str, ...] = ("lncoins", "idp", "site", "age", "female"),
    selected: tuple[str, ...] = ("lncoins", "site"),
    target: str = "mdvis",
    unit: str = "person",
    rows_per_unit: int = 1,
    epsilon: float = 1.0,
    delta: float = 0.0,
    neighboring: NeighboringRelation = NeighboringRelation.REPLACE_ONE,
    law: str = "exponential",
    ledger: LedgerRecord | None = None,
    has_id: bool = True,
    **changes: Any,
) -> Release:
    """Return a release like one of PCLS, with changes."""
    sensitivity = 240.0 * rows_per_unit
    public = [
        PublicColumn(name=target, role="target", type="integer", lower=0, upper=30, source="code book"),
        *(
            PublicColumn(name=name, role="candidate", type="real", lower=0, upper=4.7, source="code book")
            if name != "site"
            else PublicColumn(
                name=name,
                role="candidate",
                type="category",
                levels=("dayton", "fitchburg", "franklin"),
                source="study design",
            )
            for name in names
        ),
    ]
    if has_id:
        public.append(PublicColumn(name="zper", role="unit_id", type="id", source="study design"))
    fields: dict[str, Any] = {
        "private": True,
        "method": "pcls",
        "selected": selected,
        "guarantee": GuaranteeRecord(
            epsilon=epsilon, delta=delta, neighboring=neighboring, unit=unit, rows_per_unit=rows_per_unit
        ),
        "event": {"type": "SelectionEvent", "epsilon": "1", "noise": law},
        "request": {
            "target": target,
            "candidates": list(names),
            "parameters": {
                "epsilon": epsilon,
                "mechanism": "permute_and_flip",
                "l1_radius": 2.0,
                "model_penalty": 1250.5,
                "max_size": 3,
                "forced": [],
                "groups": {},
                "y_bound": 15.0,
                "y_center": 15.0,
                "fit_intercept": True,
            },
        },
        "noise": NoiseRecord(
            mechanism=MECHANISMS.get(law, law),
            noise=law,
            n_candidates=max(2, min(2 ** len(names), 2**50)),
            sensitivity=sensitivity,
            inflation=0.06,
            scale=(sensitivity + 0.06) / epsilon,
            formula="2 x [(r + R)^2 - max(r - R, 0)^2]",
            numerics="exact draw; score errors counted in the inflation",
            claim="methods/subset_selection/pcls.privacy.md",
        ),
        "public": tuple(public),
        "not_protected": (
            "the number of rows",
            "the names, bounds and levels of the columns",
            "that this request was made, and when",
        ),
        "provenance": Provenance(
            discreet="0.1.0",
            python="3.11.7",
            dataset="rand-hie",
            metadata_sha256="ab" * 32,
            request_sha256="cd" * 32,
            data="rand_hie.parquet",
            requested_at="2025-03-01T12:00:00Z",
            randomness="system entropy",
            ledger=ledger,
        ),
    }
    return Release(**(fields | changes))


def ledger_at(spent: float, cap: float) -> LedgerRecord:
    """Return where a ledger stands."""
    return LedgerRecord(entry=3, head="ef" * 32, epsilon_spent=spent, epsilon_cap=cap)


def ledger_in_rho() -> LedgerRecord:
    """Return where a ledger under zCDP stands; the sum of its epsilons is above the cap's."""
    record = {"rho": 0.125, "rho_spent": 0.25, "rho_cap": 0.375, "delta_cap": 1e-6, "accounting": "zcdp"}
    return LedgerRecord(entry=3, head="ef" * 32, epsilon_spent=4.5, epsilon_cap=3.0, **record)


def make_seeded(**changes: Any) -> Release:
    """Return a release whose noise can be drawn again."""
    release = make(**changes)
    return release.model_copy(update={"provenance": release.provenance.model_copy(update={"randomness": "seeded"})})


SAMPLES = {
    "with ledger": make(ledger=ledger_at(1.5, 3.0)),
    "without ledger": make(),
    "ledger in rho": make(ledger=ledger_in_rho()),
    "first of ledger": make(ledger=ledger_at(1.0, 1.0)),
    "add or remove": make(neighboring=NeighboringRelation.ADD_OR_REMOVE_ONE, law="gumbel"),
    "five rows": make(rows_per_unit=5),
    "rows": make(unit="row", has_id=False),
    "no id": make(has_id=False),
    "with delta": make(delta=2.25e-6, epsilon=0.1, law="laplace", ledger=ledger_at(0.1 + 0.2, 1.0)),
    "weak": make(epsilon=12.0),
    "unknown law": make(law="logistic"),
    "not private": make(private=False, guarantee=None, event=None),
    "seeded": make_seeded(private=False, guarantee=None, event=None),
    "none selected": make(selected=()),
    "one candidate": make(names=("age",), selected=("age",)),
    "fifty candidates": make(
        names=tuple(f"x{index}" for index in range(50)), selected=tuple(f"x{index}" for index in range(12))
    ),
    "hostile": make(
        names=HOSTILE,
        selected=HOSTILE[:6],
        target="<script>t</script>",
        unit="<b>row</b>",
        has_id=False,
        method="<i>m</i>",
        not_protected=HOSTILE,
        ledger=LedgerRecord(entry=1, head="<script>h</script>", epsilon_spent=1.0, epsilon_cap=2.0),
    ),
    "bare request": make(request={}),
    "forced": make(
        request={"target": "mdvis", "candidates": ["age", "idp"], "parameters": {"forced": ["age"]}},
        selected=("age", "idp"),
    ),
    "other scale": make(
        noise=NoiseRecord(
            mechanism="m",
            noise="gumbel",
            n_candidates=4,
            sensitivity=1,
            inflation=0,
            scale=7,
            formula="f",
            numerics="idealized",
            claim="c",
        )
    ),
}
