"""Why a request may fail: a closed list. What happened after the rows were opened has one code, whatever it was."""

NO_RESULT = "no_result"
DATA_MISMATCH = "data_mismatch"
CHANGED = "changed_after_approval"
NOT_STARTED = "not_started"
SHARED = "not_its_own_table"

MEANING = {
    NO_RESULT: "The computation ended without a result after the data were opened. What was charged stays charged.",
    DATA_MISMATCH: "The table does not have the shape that its metadata declare. This attempt charged nothing; ask its "
    "curator.",
    CHANGED: "The request is not what was approved. This attempt charged nothing; make it again.",
    SHARED: "The table is not this data set's alone: its path leads over a link, or another one has the same rows. "
    "This attempt charged nothing; ask its curator.",
    NOT_STARTED: "The computation could not begin. This attempt charged nothing; try again, or tell the person "
    "who runs the service.",
}
"""The text that people read."""
