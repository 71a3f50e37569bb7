"""Defences, each with the text that holds it, the same text broken, and the tests that should notice."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Defence:
    """A defence, and what removes it.

    Parameters
    ----------
    name : str
        What it keeps.
    file : str
        Below ``src/discreet``.
    stands : str
        Text that is once in the file.
    broken : str
        What replaces it.
    tests : tuple of str
        Below ``tests``: files, or pytest's names of tests. Empty while nobody has written one.
    """

    name: str
    file: str
    stands: str
    broken: str
    tests: tuple[str, ...] = ()


OUTSIDERS = (
    # ---- what an attacker from outside would try first
    Defence(
        "job's memory limit",
        "service/worker/job.py",
        "resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))",
        "del memory_mb",
    ),
    Defence(
        "sign-in limits per address and name",
        "service/access/entry.py",
        "if any(tried[kind] >= most for kind, most in MOST_FAILURES.items()):",
        'if tried["pair"] >= MOST_FAILURES["pair"]:',
    ),
    Defence(
        "a password hash for unknown names",
        "service/access/secrecy.py",
        "return _hasher.verify(kept or _nobodys(), password) and kept is not None",
        "return kept is not None and _hasher.verify(kept, password)",
    ),
    Defence(
        "quiet solvers in two-stage",
        "methods/two_stage.py",
        'warnings.simplefilter("ignore")',
        'warnings.simplefilter("default")',
    ),
    Defence(
        "no spilling of rows to disk",
        "data/engines/duckdb.py",
        "; SET temp_directory = ''",
        "",
    ),
    Defence(
        "four eyes at approval",
        "service/desk/decisions.py",
        "if found.by == who.name:",
        "if False:",
    ),
    Defence(
        "approval bound to the exact text",
        "service/worker/job.py",
        "if decision is None or content_sha256(found.content, found.version) != found.sha256:",
        "if decision is None:",
    ),
    Defence(
        "conditional update of sums",
        "ledger/postings.py",
        ".where(of, sums.c.accounting == accounting.value, *fits)",
        ".where(of, sums.c.accounting == accounting.value)",
    ),
    Defence(
        "charge taken with the reservation",
        "ledger/ledger.py",
        "            postings.charge(self._store, connection, account, values)\n",
        "",
    ),
    Defence(
        "touched before rows are opened",
        "workflow/request.py",
        """\
        with _uninterrupted():
            reservation.touch(within=delivery.touched)
        try:
            outcome = _computed(inquiry.prepared, table, source or Source(), progress, delivery)
        finally:
            delivery.wait()
""",
        """\
        try:
            outcome = _computed(inquiry.prepared, table, source or Source(), progress, delivery)
        finally:
            delivery.wait()
        with _uninterrupted():
            reservation.touch(within=delivery.touched)
""",
    ),
    Defence(
        "what was touched is not refunded",
        "ledger/postings.py",
        "if latest != chain.BEFORE[kind]:",
        'if latest != chain.BEFORE[kind] and (kind, latest) != ("cancel", "touch"):',
    ),
    Defence(
        "an entry's hash covers the one before",
        "ledger/chain.py",
        'if column.name not in ("hash", *_LATER))',
        'if column.name not in ("hash", "prev", *_LATER))',
    ),
    Defence(
        "same question, stored answer",
        "workflow/request.py",
        "stored = None if fresh or inquiry.locator is None else ledger.stored(inquiry.digest)",
        "stored = None",
    ),
    Defence(
        "pepper in every seal",
        "service/access/secrecy.py",
        "return hmac.new(pepper, text.encode(), hashlib.sha256).hexdigest()",
        'return hmac.new(b"", text.encode(), hashlib.sha256).hexdigest()',
    ),
    Defence(
        "session cookie out of reach of scripts",
        "service/pages/cookies.py",
        '        httponly=True,\n        samesite="strict" if settings.sign_on is None else "lax",',
        '        httponly=False,\n        samesite="strict" if settings.sign_on is None else "lax",',
    ),
    Defence(
        "forms bring their token",
        "service/pages/visit.py",
        "if not same(brought, expected):",
        "if False:",
    ),
    Defence(
        "no link leads out of a folder",
        "service/desk/inquiries.py",
        "if not found.is_relative_to(root):",
        "if False:",
    ),
    Defence(
        "quoted SQL identifiers",
        "data/engines/file_table.py",
        """return '"' + name.replace('"', '""') + '"'""",
        """return '"' + name + '"'""",
    ),
    Defence(
        "one constant failure with rows open",
        "workflow/request.py",
        "raise ComputationFailedError from None",
        "raise",
    ),
    Defence(
        "contribution bound",
        "data/engine.py",
        "cut = None if unit_id is None else UnitCut(unit_id, self.metadata.rows_per_unit, of_units)",
        "cut = None if unit_id is None or True else UnitCut(unit_id, self.metadata.rows_per_unit, of_units)",
    ),
)

LEDGER = (
    Defence(
        "cap exact to the grain",
        "ledger/postings.py",
        '<= sums.c[f"{name}_cap"] for name in held]',
        '<= sums.c[f"{name}_cap"] + 1 for name in held]',
    ),
    Defence(
        "cap on delta",
        "ledger/postings.py",
        'held = ("rho", "failure") if accounting is Accounting.ZCDP else ("epsilon", "delta")',
        'held = ("rho", "failure") if accounting is Accounting.ZCDP else ("epsilon",)',
    ),
    Defence(
        "cost rounded up",
        "ledger/grains.py",
        "return math.ceil(value / grain)",
        "return math.floor(value / grain)",
    ),
    Defence(
        "project's allotment",
        "ledger/postings.py",
        "raise refusals.exceeded(store, allotment, values)",
        "pass",
    ),
    Defence(
        "guarantee under the request's relation",
        "ledger/ledger.py",
        "if relation is not guarantee.neighboring:",
        "if False:",
    ),
    Defence(
        "witness told of each entry",
        "ledger/ledger.py",
        "if self._witness is not None and lines:",
        "if False:",
    ),
    Defence(
        "stored answer compared with its entry",
        "ledger/books.py",
        'if json.loads(row.facts).get("release_sha256") != text_sha256(row.text):',
        "if False:",
    ),
    Defence(
        "Gumbel's rho for Gumbel noise alone",
        "accounting/totals.py",
        'min(rho, epsilon**2 / 8) if event.noise == "gumbel" else rho',
        "min(rho, epsilon**2 / 8)",
    ),
)

SERVICE = (
    Defence(
        "expiry of keys",
        "service/store/keys.py",
        "keys.c.revoked.is_(None), keys.c.expires > now(), ~users.c.disabled",
        "keys.c.revoked.is_(None), ~users.c.disabled",
    ),
    Defence(
        "idempotency key of one account",
        "service/store/requests.py",
        "query = _all().where(requests.c.by == by, requests.c.idempotency == idempotency)",
        "query = _all().where(requests.c.idempotency == idempotency)",
    ),
    Defence(
        "failures for curators alone",
        "service/api/requests.py",
        "def read_failure(request: Request, who: Curator, id: Id)",
        "def read_failure(request: Request, who: Reader, id: Id)",
    ),
    Defence(
        "requests of one's own projects",
        "service/desk/sight.py",
        "if own is None or found.project in own:",
        "if True:",
    ),
    Defence(
        "question as approved, for the worker",
        "service/worker/job.py",
        "if inquiry.digest != found.question:",
        "if False:",
    ),
    Defence(
        "no field that is not known",
        "service/schemas.py",
        'class _Body(BaseModel):\n    model_config = ConfigDict(frozen=True, extra="forbid")',
        'class _Body(BaseModel):\n    model_config = ConfigDict(frozen=True, extra="ignore")',
    ),
    Defence(
        "no text of an error in a failure",
        "service/worker/job.py",
        'lines.append(f"{_kind_of(seen)}: ',
        'lines.append(f"{seen!r}: ',
    ),
    Defence(
        "no text of an error in the log",
        "service/app.py",
        'log("error", kind=type(error).__name__)',
        'log("error", kind=str(error))',
    ),
    Defence(
        "outcome at the end of its slot",
        "service/worker/job.py",
        "time.sleep(left_s)",
        "pass",
    ),
)

ROWS = (
    Defence(
        "target clipped to its bound",
        "data/design.py",
        "    np.clip(scaled, -1.0, 1.0, out=scaled)\n",
        "",
    ),
    Defence(
        "missing cells mapped",
        "data/design.py",
        "missing = np.isnan(scaled)",
        "missing = np.zeros(len(scaled), dtype=np.bool_)",
    ),
    Defence(
        "a cell of no level is of none",
        "data/design.py",
        "other = -1 if column.unknown is None else levels.index(column.unknown)",
        "other = 0 if column.unknown is None else levels.index(column.unknown)",
    ),
    Defence(
        "rows of one person in one part",
        "data/unit_keys.py",
        "place = np.arange(len(letters)) - np.repeat(ends[:-1] - ends[0], lengths)",
        "place = np.arange(len(letters))",
    ),
    Defence(
        "contribution bound across batches",
        "data/engine.py",
        """\
                for keys, cells in found:
                    rows.add(keys, cells)
            yield rows
""",
        """\
                for keys, cells in found:
                    rows.add(keys, cells)
                    yield rows
                    rows = UnitRows(design.n_columns)
""",
    ),
    Defence(
        "contribution bound exact",
        "kernels/unit_cuts.py",
        "kept: Integers = order[np.arange(len(unit)) - begins < most]",
        "kept: Integers = order[np.arange(len(unit)) - begins <= most]",
    ),
    Defence(
        "one sparse cell, one value",
        "data/engines/sparse.py",
        "found.sum_duplicates()",
        "pass",
    ),
    Defence(
        "twice the sensitivity under replacement",
        "methods/sis.py",
        "both = 2 if metadata.neighboring is NeighboringRelation.REPLACE_ONE else 1",
        "both = 1",
    ),
)

RELEASES = (
    Defence(
        "no guarantee from a known source",
        "workflow/request.py",
        "is_system = type(source) is Source",
        "is_system = source.is_system",
    ),
    Defence(
        "fresh entropy after a fork",
        "mechanisms/rng.py",
        "return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)",
        "return self.__dict__.setdefault('_keyed', np.random.default_rng()).integers(0, 2**64, count, np.uint64)",
    ),
    Defence(
        "chain's head in the release",
        "workflow/inquiry.py",
        "head=reservation.head,",
        'head="0" * 64,',
    ),
    Defence(
        "HTML escaped",
        "report/render.py",
        "finalize=lambda value: value if isinstance(value, Markup) else escaper(value),",
        "finalize=lambda value: Markup(value),",
    ),
    Defence(
        "no formula in a CSV cell",
        "report/escape.py",
        """_FORMULA.sub("'", text))""",
        "text)",
    ),
)

DEFENCES = (*OUTSIDERS, *LEDGER, *SERVICE, *ROWS, *RELEASES)
