# A small table about people, its metadata, and a ledger; all in folders of the test's own.

clinic_columns <- list(
  visits = list(type = "integer", lower = 0, upper = 20, source = "questionnaire"),
  age = list(type = "integer", lower = 0, upper = 110, source = "by definition"),
  income = list(type = "real", lower = 0, upper = 100, source = "questionnaire"),
  site = list(type = "category", levels = c("north", "south", "west"), source = "study design")
)

people <- function(n = 240) {
  age <- 18 + (37 * seq_len(n)) %% 70
  data.frame(
    visits = pmin(20, age %/% 5 + seq_len(n) %% 3), age = as.integer(age), income = (seq_len(n)^2) %% 97 + 0.25,
    site = factor(c("north", "south", "west")[1 + seq_len(n) %% 3])
  )
}

once <- new.env()

clinic <- function() {
  if (is.null(once$clinic)) once$clinic <- dp_metadata(dataset = "clinic", n_rows = 240, columns = clinic_columns)
  once$clinic
}

granted <- function(epsilon = 100, delta = 1e-2) {
  ledger <- tempfile("ledger", fileext = ".sqlite")
  dp_budget_grant("clinic", epsilon, delta, ledger = ledger)
  ledger
}

spent <- function(ledger) dp_budget_show(ledger = ledger)$epsilon.spent

skip_without_command <- function() testthat::skip_if_not(dp_available(), "the command discreet is missing: pip install discreet")

# A command that notes its arguments, environment and the file of rows, and then is the real one.
noting_command <- function(notes, before = "") {
  script <- tempfile("discreet-noting-")
  writeLines(c(
    "#!/bin/sh",
    sprintf("case \"$*\" in --version|metadata*) exec %s \"$@\";; esac", shQuote(dp_command())),
    sprintf("cd %s", shQuote(notes)),
    "printf '%s\\n' \"$@\" > arguments; env > environment; echo $$ > pid",
    "file=$(sed -n 's/^--data=//p' arguments); stat -c '%a %n' \"$file\" \"$(dirname \"$file\")\" > modes; ls -A \"$(dirname \"$file\")\" > listing",
    "touch started", before, sprintf("exec %s \"$@\"", shQuote(dp_command()))
  ), script)
  Sys.chmod(script, "0700")
  script
}

folders_left <- function() list.files(tempdir(), pattern = "^discreet-[0-9a-f]+$")

types_in <- function(path) {
  connection <- RSQLite::dbConnect(RSQLite::SQLite(), path)
  on.exit(RSQLite::dbDisconnect(connection))
  list(types = RSQLite::dbGetQuery(connection, "PRAGMA table_info(data_frame)")$type, rows = RSQLite::dbReadTable(connection, "data_frame"))
}
