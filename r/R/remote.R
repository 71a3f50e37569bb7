# A service that holds the table: its data sets stand where a file or a data frame would.

dp_remote <- function(dataset, project = NULL, purpose = NULL, wait = TRUE) {
  structure(list(dataset = plain(dataset), project = project, purpose = purpose, wait = isTRUE(wait)), class = "discreet_remote")
}

print.discreet_remote <- function(x, ...) {
  cat("Data set ", x$dataset, " of the service that dp_remote_login() named", if (!is.null(x$project)) paste(", project", x$project), "\n", sep = "")
  invisible(x)
}

# The key is in a file, in the variable DISCREET_KEY, or asked for by the command on a terminal: never an argument.
dp_remote_login <- function(url, key_file = NULL, ...) {
  options <- words_of(list(key_file = if (!is.null(key_file)) file_word(key_file, "`key_file`"), ...))
  run_command(c("remote", "login", options, "--", plain(url)))
  invisible(url)
}

dp_remote_logout <- function() invisible(run_command(c("remote", "logout")))

dp_remote_datasets <- function() remote("datasets")

dp_remote_budget <- function(dataset) remote("budget", dataset)

dp_remote_metadata <- function(dataset) {
  folder <- private_folder()
  on.exit(remove_folder(folder))
  dp_metadata(write_private(run_command(c("remote", "metadata", "--", plain(dataset)), quiet = TRUE), folder, "metadata.yaml"))
}

dp_remote_requests <- function(...) remote("requests", ...)

dp_remote_show <- function(id) remote("show", id)

dp_remote_release <- function(id, wait = TRUE) {
  words <- c("remote", "release", if (!wait) "--no-wait")
  new_release(run_json_before(words, c("--", plain(id)), quiet = FALSE))
}

dp_remote_approve <- function(id, comment = NULL) remote("approve", id, comment = comment, yes = TRUE)

dp_remote_reject <- function(id, comment = NULL) remote("reject", id, comment = comment, yes = TRUE)

dp_remote_withdraw <- function(id) remote("withdraw", id)

remote <- function(verb, named = NULL, ...) {
  run_json_before(c("remote", verb, words_of(list(...))), if (length(named)) c("--", plain(named)), quiet = TRUE)$value
}
