# The ledger.

dp_budget_grant <- function(dataset, epsilon, delta = NULL, ..., ledger = NULL) {
  if (inherits(dataset, "discreet_metadata")) dataset <- dataset$value$dataset
  account <- budget("grant", list(epsilon = epsilon, delta = delta, ledger = ledger, ...), dataset)
  accounts_table(list(account))
}

dp_budget_allot <- function(dataset, project, epsilon, delta = 0, ..., ledger = NULL) {
  invisible(budget("allot", list(epsilon = epsilon, delta = delta, ledger = ledger, ...), c(dataset, project)))
}

dp_budget_show <- function(dataset = NULL, ..., ledger = NULL) {
  accounts_table(budget("show", list(ledger = ledger, ...), dataset)$accounts)
}

dp_budget_history <- function(dataset = NULL, ..., ledger = NULL) {
  entries <- budget("history", list(ledger = ledger, ...), dataset)$entries
  fields <- c("seq", "time", "kind", "dataset", "project", "state", "epsilon", "delta", "request")
  columns <- lapply(setNames(nm = fields), function(field) {
    cells <- lapply(entries, function(entry) if (is.null(entry[[field]])) NA else entry[[field]])
    if (length(cells)) unlist(cells) else logical()
  })
  as.data.frame(columns, stringsAsFactors = FALSE)
}

dp_budget_verify <- function(releases = character(), ..., ledger = NULL) {
  folder <- private_folder()
  on.exit(remove_folder(folder))
  if (inherits(releases, "discreet_release")) releases <- release_file(releases, folder)
  budget("verify", list(ledger = ledger, ...), releases)
}

budget <- function(verb, options, named = NULL) {
  if (!is.null(options$ledger)) options$ledger <- path.expand(options$ledger)
  run_json_before(c("budget", verb, words_of(options)), if (length(named)) c("--", plain(named)), quiet = TRUE)$value
}

accounts_table <- function(accounts) {
  number <- function(kind, field) vapply(accounts, function(account) as.numeric(c(account[[kind]][[field]], NA)[1]), 0)
  table <- data.frame(
    dataset = vapply(accounts, function(account) account$dataset, ""),
    epsilon.cap = number("epsilon", "cap"), epsilon.spent = number("epsilon", "spent"), epsilon.left = number("epsilon", "left"),
    delta.cap = number("delta", "cap"), delta.spent = number("delta", "spent"), delta.left = number("delta", "left"),
    releases = vapply(accounts, function(account) as.integer(account$releases), 0L), stringsAsFactors = FALSE
  )
  structure(table, class = c("discreet_budget", "data.frame"))
}

print.discreet_budget <- function(x, ...) {
  cat("Privacy budget, for each data set's lifetime\n")
  shown <- x
  shown[] <- lapply(x, function(cells) if (is.numeric(cells) && !anyNA(cells)) plain(cells) else cells)
  print.data.frame(shown, row.names = FALSE, ...)
  invisible(x)
}
