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
        Below ``src/discreet``; of the service, by its package's name.
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
        "discreet_service/worker/job.py",
        "resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))",
        "del memory_mb",
        ("acceptance/test_service_slots.py::test_a_slow_start_up_costs_nothing_of_the_slot",),
    ),
    Defence(
        "sign-in limits per address and name",
        "discreet_service/access/authentication.py",
        "if any(failures[kind] >= most for kind, most in MOST_FAILURES.items()):",
        'if failures["pair"] >= MOST_FAILURES["pair"]:',
        ("unit/service/test_access_limits.py::test_tries_are_counted_for_each_kind",),
    ),
    Defence(
        "a password hash for unknown names",
        "discreet_service/access/digests.py",
        "return _hasher.verify(stored_hash or _dummy_hash(), password) and stored_hash is not None",
        "return stored_hash is not None and _hasher.verify(stored_hash, password)",
        ("unit/service/test_access_limits.py::test_a_name_that_is_not_there_takes_the_same_work",),
    ),
    Defence(
        "quiet solvers in two-stage",
        "kernels/top_k/block_lasso.py",
        "sizes = np.abs(descent.lasso(features, values[:, -1].copy(), alpha * len(values), MAX_STEPS, GAP))",
        'sizes = importlib.import_module("sklearn.linear_model").Lasso(alpha=alpha, fit_intercept=False)\n'
        "    sizes = np.abs(sizes.fit(features, values[:, -1]).coef_)",
        ("unit/kernels/top_k/test_block_lasso.py::test_a_block_that_does_not_converge_says_nothing",),
    ),
    Defence(
        "no spilling of rows to disk",
        "data/engines/duckdb.py",
        "; SET temp_directory = ''",
        "",
        ("contracts/test_engines.py::test_engine_writes_no_row_to_the_disk",),
    ),
    Defence(
        "four eyes at approval",
        "discreet_service/use_cases/decisions.py",
        "if request.by == who.name:",
        "if False:",
        ("acceptance/test_service_requests.py::test_nobody_decides_on_a_request_of_their_own[sqlite]",),
    ),
    Defence(
        "approval bound to the exact text",
        "discreet_service/worker/job.py",
        "if decision is None or content_sha256(request.content, request.version) != request.sha256:",
        "if decision is None:",
        ("acceptance/test_service_tampering.py::test_changed_after_approval[sqlite-a text that is none]",),
    ),
    Defence(
        "conditional update of sums",
        "ledger/postings.py",
        ".where(is_row, table.c.accounting == accounting.value, *fits)",
        ".where(is_row, table.c.accounting == accounting.value)",
        ("unit/ledger/test_ledger_reservations.py::test_ten_tenths_are_one[sqlite]",),
    ),
    Defence(
        "charge taken with the reservation",
        "ledger/ledger.py",
        "            postings.charge(self._store, connection, account, values)\n",
        "",
        ("unit/ledger/test_ledger_reservations.py::test_ten_tenths_are_one[sqlite]",),
    ),
    Defence(
        "touched before rows are opened",
        "workflow/request.py",
        """\
        with _uninterrupted(waits=True):
            reservation.touch(within=delivery.touched)
        try:
            outcome = _computed(priced.prepared, table, source or Source(), progress, delivery)
        finally:
            delivery.wait()
""",
        """\
        try:
            outcome = _computed(priced.prepared, table, source or Source(), progress, delivery)
        finally:
            delivery.wait()
        with _uninterrupted(waits=True):
            reservation.touch(within=delivery.touched)
""",
        ("unit/workflow/test_fulfil.py::test_rows_are_read_once_the_ledger_says_so",),
    ),
    Defence(
        "what was touched is not refunded",
        "ledger/postings.py",
        "if latest != chain.BEFORE[kind]:",
        'if latest != chain.BEFORE[kind] and (kind, latest) != ("cancel", "touch"):',
        ("unit/ledger/test_ledger_reservations.py::test_only_the_states_steps_are_allowed[sqlite-cancel-touch]",),
    ),
    Defence(
        "an entry's hash covers the one before",
        "ledger/chain.py",
        'if column.name not in ("hash", *_LATER))',
        'if column.name not in ("hash", "prev", *_LATER))',
        ("unit/ledger/test_ledger_verify.py::test_a_rewritten_chain_does_not_hold_the_old_heads[sqlite]",),
    ),
    Defence(
        "same question, stored answer",
        "workflow/request.py",
        "text = ledger.stored(priced.digest)",
        "text = None",
        ("acceptance/test_same_request.py::test_same_request_is_free",),
    ),
    Defence(
        "pepper in every seal",
        "discreet_service/access/digests.py",
        "return hmac.new(pepper, text.encode(), hashlib.sha256).hexdigest()",
        'return hmac.new(b"", text.encode(), hashlib.sha256).hexdigest()',
        ("unit/service/test_service_parts.py::test_a_seal_depends_on_pepper_purpose_and_the_cut_between_parts",),
    ),
    Defence(
        "session cookie out of reach of scripts",
        "discreet_service/pages/cookies.py",
        '        httponly=True,\n        samesite="strict" if settings.sign_on is None else "lax",',
        '        httponly=False,\n        samesite="strict" if settings.sign_on is None else "lax",',
        ("unit/service/test_pages_access.py::test_a_session_is_new_with_each_signing_in",),
    ),
    Defence(
        "forms bring their token",
        "discreet_service/pages/visit.py",
        "if not same_secret(sent_token, expected):",
        "if False:",
        ("unit/service/test_pages_access.py::test_no_form_without_its_token[ann]",),
    ),
    Defence(
        "no link leads out of a folder",
        "discreet_service/use_cases/priced_requests.py",
        "if not path.is_relative_to(root):",
        "if False:",
        ("unit/service/test_priced_requests.py::test_no_link_leads_out_of_its_folder",),
    ),
    Defence(
        "quoted SQL identifiers",
        "data/engines/file_table.py",
        """return '"' + name.replace('"', '""') + '"'""",
        """return '"' + name + '"'""",
        ("acceptance/test_bad_input.py::test_names_like_sql",),
    ),
    Defence(
        "one constant failure with rows open",
        "workflow/request.py",
        "raise ComputationFailedError from None",
        "raise",
        ("acceptance/test_canary.py::test_canary_in_a_failure",),
    ),
    Defence(
        "contribution bound",
        "data/engine.py",
        "bound = None if unit_id is None else ContributionBound(",
        "bound = None if unit_id is None or True else ContributionBound(",
        ("acceptance/test_same_request.py::test_unit_truncation[replace_one]",),
    ),
)

LEDGER = (
    Defence(
        "cap exact to the grain",
        "ledger/rule.py",
        '<= sums[f"{name}_cap"] for name in held(accounting)}',
        '<= sums[f"{name}_cap"] + 1 for name in held(accounting)}',
        ("unit/ledger/test_ledger_reservations.py::test_ten_tenths_are_one[sqlite]",),
    ),
    Defence(
        "cap on delta",
        "ledger/rule.py",
        'else ("epsilon", "delta")',
        'else ("epsilon",)',
        ("unit/ledger/test_ledger_reservations.py::test_too_much_delta_is_refused[sqlite]",),
    ),
    Defence(
        "cost rounded up",
        "ledger/grains.py",
        "return math.ceil(value / grain)",
        "return math.floor(value / grain)",
        ("unit/ledger/test_ledger_reservations.py::test_costs_are_rounded_up[sqlite]",),
    ),
    Defence(
        "project's allotment",
        "ledger/postings.py",
        "raise refusals.exceeded(store, allotment, values)",
        "pass",
        ("unit/ledger/test_ledger_allotments.py::test_the_ceiling_holds[sqlite]",),
    ),
    Defence(
        "guarantee under the request's relation",
        "ledger/ledger.py",
        "if relation is not guarantee.neighboring:",
        "if False:",
        ("unit/ledger/test_ledger_reservations.py::test_a_guarantee_under_another_relation_is_refused[sqlite]",),
    ),
    Defence(
        "witness told of each entry",
        "ledger/ledger.py",
        "        self._witnesses.tell(lines)\n",
        "",
        ("unit/ledger/test_ledger_witness.py::test_every_entry_is_seen[sqlite]",),
    ),
    Defence(
        "stored answer compared with its entry",
        "ledger/queries.py",
        'if json.loads(row.facts).get("release_sha256") != text_sha256(row.text):',
        "if False:",
        ("unit/ledger/test_ledger_reservations.py::test_a_stored_text_that_was_changed_is_not_given_out[sqlite]",),
    ),
    Defence(
        "Gumbel's rho for Gumbel noise alone",
        "accounting/totals.py",
        'min(rho, epsilon**2 / 8) if event.noise == "gumbel" else rho',
        "min(rho, epsilon**2 / 8)",
        ("unit/accounting/test_zcdp.py::test_the_cost_of_each_kind",),
    ),
)

SERVICE = (
    Defence(
        "expiry of keys",
        "discreet_service/store/keys.py",
        """keys.c.revoked.is_(None), keys.c.expires > bindparam("now"), ~users.c.disabled""",
        "keys.c.revoked.is_(None), ~users.c.disabled",
        ("acceptance/test_service_access.py::test_no_valid_key_no_answer[expired-GET /datasets]",),
    ),
    Defence(
        "idempotency key of one account",
        "discreet_service/store/requests.py",
        "query = _ALL.where(requests.c.by == by, requests.c.idempotency == idempotency)",
        "query = _ALL.where(requests.c.idempotency == idempotency)",
        ("acceptance/test_service_requests.py::test_one_key_makes_one_request[sqlite]",),
    ),
    Defence(
        "failures for curators alone",
        "discreet_service/api/requests.py",
        "def read_failure(request: Request, who: Curator, id: Id)",
        "def read_failure(request: Request, who: Reader, id: Id)",
        ("acceptance/test_service_access.py::test_each_role_gets_its_code[GET /requests/R/failure]",),
    ),
    Defence(
        "requests of one's own projects",
        "discreet_service/use_cases/permissions.py",
        "if own is None or request.project in own:",
        "if True:",
        ("acceptance/test_service_access.py::test_each_role_gets_its_code[GET /requests/R]",),
    ),
    Defence(
        "question as approved, for the worker",
        "discreet_service/worker/job.py",
        "if priced.digest != request.question:",
        "if False:",
        ("acceptance/test_service_tampering.py::test_changed_after_approval[sqlite-where its table lies]",),
    ),
    Defence(
        "no field that is not known",
        "discreet_service/schemas.py",
        'class _Body(BaseModel):\n    model_config = ConfigDict(frozen=True, extra="forbid")',
        'class _Body(BaseModel):\n    model_config = ConfigDict(frozen=True, extra="ignore")',
        ("unit/service/test_service_bodies.py",),
    ),
    Defence(
        "no text of an error in a failure",
        "discreet_service/worker/delivery.py",
        'lines.append(f"{_kind_of(cause)}: ',
        'lines.append(f"{cause!r}: ',
        ("acceptance/test_service_canary.py::test_nothing_of_a_cell_leaves_with_an_error",),
    ),
    Defence(
        "no text of an error in the log",
        "discreet_service/middleware.py",
        'log("error", kind=type(error).__name__)',
        'log("error", kind=str(error))',
        ("acceptance/test_service_canary.py::test_an_error_of_the_server_leaves_its_kind_alone",),
    ),
    Defence(
        "outcome at the end of its slot",
        "discreet_service/worker/delivery.py",
        "time.sleep(left_s)",
        "pass",
        ("unit/service/test_slot_end.py::test_an_outcome_waits_for_the_end_of_its_slot",),
    ),
)

ROWS = (
    Defence(
        "target clipped to its bound",
        "data/cells.py",
        "    np.clip(scaled, -1.0, 1.0, out=scaled)\n",
        "",
        ("unit/data/test_design.py::test_the_target_is_centered_and_bounded_as_asked",),
    ),
    Defence(
        "missing cells mapped",
        "data/cells.py",
        "missing = np.isnan(scaled)",
        "missing = np.zeros(len(scaled), dtype=np.bool_)",
        ("unit/data/test_design.py::test_every_cell_of_every_type_becomes_integers_on_the_grid",),
    ),
    Defence(
        "a cell of no level is of none",
        "data/cells.py",
        "other = -1 if column.unknown is None else levels.index(column.unknown)",
        "other = 0 if column.unknown is None else levels.index(column.unknown)",
        ("unit/data/test_cells.py::test_text_that_is_no_text_is_missing",),
    ),
    Defence(
        "rows of one person in one part",
        "data/unit_keys.py",
        "place = np.arange(len(letters)) - np.repeat(ends[:-1] - ends[0], lengths)",
        "place = np.arange(len(letters))",
        ("unit/data/test_contribution_bound.py::test_parts_of_the_units_make_the_whole",),
    ),
    Defence(
        "contribution bound across batches",
        "data/engine.py",
        """\
                for keys, cells in blocks:
                    rows.add(keys, cells)
            yield rows
""",
        """\
                for keys, cells in blocks:
                    rows.add(keys, cells)
                    yield rows
                    rows = UnitRows(design.n_columns)
""",
        ("acceptance/test_same_request.py::test_unit_truncation[replace_one]",),
    ),
    Defence(
        "contribution bound exact",
        "kernels/rows/contribution_bound.py",
        "return rows.reshape(-1, rows.shape[2]).take(order[:, :most], axis=0)",
        "return rows.reshape(-1, rows.shape[2]).take(order[:, : most + 1], axis=0)",
        ("unit/data/test_contribution_bound.py::test_each_unit_keeps_its_first_rows_alone",),
    ),
    Defence(
        "one sparse cell, one value",
        "data/engines/sparse.py",
        "canonical.sum_duplicates()",
        "pass",
        ("unit/data/test_products.py::test_a_sparse_cell_in_many_parts_moves_a_score_as_one_cell_does",),
    ),
    Defence(
        "twice the sensitivity under replacement",
        "methods/screening/target_plan.py",
        "n_rows_changed = 2 if replaces else 1",
        "n_rows_changed = 1",
        ("privacy/test_sis.py::test_worst_pair_loses_at_most_epsilon[replace_one-canonical_lipschitz]",),
    ),
)

RELEASES = (
    Defence(
        "no guarantee from a known source",
        "workflow/request.py",
        "is_system = type(source) is Source",
        "is_system = source.is_system",
        ("unit/test_release.py::test_a_source_that_is_known_gives_no_guarantee",),
    ),
    Defence(
        "fresh entropy after a fork",
        "mechanisms/rng.py",
        "return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)",
        "return self.__dict__.setdefault('_keyed', np.random.default_rng()).integers(0, 2**64, count, np.uint64)",
        ("privacy/test_fork.py::test_forked_processes_draw_different_noise[words]",),
    ),
    Defence(
        "chain's head in the release",
        "workflow/priced_request.py",
        "head=reservation.head,",
        'head="0" * 64,',
        ("acceptance/test_restored_backup.py::test_releases_bring_their_charges_back",),
    ),
    Defence(
        "HTML escaped",
        "report/escape.py",
        "finalize=lambda value: value if isinstance(value, Markup) else escaper(value),",
        "finalize=lambda value: Markup(value),",
        ("unit/report/test_participant.py::test_contact_is_named_and_escaped[participant-html]",),
    ),
    Defence(
        "no formula in a CSV cell",
        "report/escape.py",
        """_FORMULA.sub("'", text))""",
        "text)",
        ("unit/report/test_escape.py::test_a_formula_gets_a_quote[=1]",),
    ),
)

DEFENCES = (*OUTSIDERS, *LEDGER, *SERVICE, *ROWS, *RELEASES)
