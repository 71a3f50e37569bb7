# How the command is found and run. No row of a table is ever an argument or in the environment of it.

least_version <- "0.1.0"
checked <- new.env(parent = emptyenv())

# Where the command is: option discreet.command, then the variable DISCREET, then the path.
dp_command <- function() {
  named <- getOption("discreet.command", Sys.getenv("DISCREET"))
  path <- if (nzchar(named)) path.expand(named) else Sys.which("discreet")[[1]]
  if (!nzchar(path) || file.access(path, 1L) != 0L || dir.exists(path)) {
    refuse(
      "The command discreet must be installed, but ", if (nzchar(path)) sQuote(path, FALSE) else "it",
      " was not found. Install it with `pip install discreet`, or say where it is: ",
      "options(discreet.command = \"/path/to/discreet\").", code = 127L
    )
  }
  path <- normalizePath(path)
  if (is.null(checked[[path]])) assign(path, command_version(path), envir = checked)
  path
}

# Whether the command is there, for examples and tests.
dp_available <- function() tryCatch(nzchar(dp_command()), discreet_error_missing = function(e) FALSE)

command_version <- function(path) {
  done <- tryCatch(
    processx::run(path, "--version", error_on_status = FALSE, env = child_environment()),
    error = function(e) list(stdout = "")
  )
  version <- sub("^discreet ([0-9.]+).*$", "\\1", trimws(done$stdout))
  if (!grepl("^[0-9]+([.][0-9]+)+$", version)) {
    refuse(sQuote(path, FALSE), " must be the command discreet, but it does not tell a version of it.", code = 127L)
  }
  if (utils::compareVersion(version, least_version) < 0) {
    refuse(
      "This package needs discreet ", least_version, " or later, but ", sQuote(path, FALSE), " is ", version,
      ". Install the newer one: pip install --upgrade discreet", code = 127L
    )
  }
  version
}

# Run the command and return what it printed. An interrupt is handed on to the command, which then finishes its ledger's
# step; what it prints even so is returned, as it was paid for.
run_command <- function(arguments, quiet = FALSE) {
  child <- processx::process$new(
    dp_command(), arguments,
    stdout = "|", stderr = "|", encoding = "UTF-8", cleanup = TRUE,
    env = child_environment(if (shows_progress(quiet)) "lines" else "none")
  )
  on.exit(end_child(child), add = TRUE)
  output <- new.env(parent = emptyenv())
  output$text <- output$rest <- ""
  output$words <- character()
  bar <- progress_bar()
  on.exit(bar$close(), add = TRUE)
  interrupted <- tryCatch({
    while (child$is_alive()) drain(child, output, bar, 200L)
    FALSE
  }, interrupt = function(condition) TRUE)
  if (interrupted) finish_interrupted(child, output, bar)
  repeat {
    more <- drain(child, output, bar, 100L)
    if (!more && !child$is_incomplete_output() && !child$is_incomplete_error()) break
  }
  words <- c(output$words, if (nzchar(output$rest)) output$rest)
  code <- child$get_exit_status()
  if (interrupted && (is.null(code) || is.na(code) || code < 0L)) code <- 130L
  if (code != 0L) {
    problem <- command_error(words, code)
    problem$output <- output$text
    if (code == 7L) problem$request <- waiting_request(output$text)
    stop(problem)
  }
  if (interrupted) warning("Interrupted: this is what there was by then.", call. = FALSE)
  if (!quiet && length(words)) message(paste(words, collapse = "\n"))
  output$text
}

# R puts folders of its own before those of libraries, and a Python started by it may load another Python's there.
child_environment <- function(progress = "none") {
  path <- Sys.getenv("LD_LIBRARY_PATH")
  if (nzchar(path) && is.null(checked$added)) assign("added", library_folders_added(), envir = checked)
  while (nzchar(path) && nzchar(checked$added) && startsWith(path, checked$added)) { # an R that R started adds them again
    path <- sub("^:+", "", substring(path, nchar(checked$added) + 1L))
  }
  c("current", DISCREET_PROGRESS = progress, if (nzchar(Sys.getenv("LD_LIBRARY_PATH"))) c(LD_LIBRARY_PATH = path))
}

library_folders_added <- function() {
  file <- file.path(R.home("etc"), "ldpaths")
  if (!file.exists(file)) return("")
  script <- ". \"$1\"; printf %s \"$LD_LIBRARY_PATH\""
  shell <- processx::run("sh", c("-c", script, "sh", file), env = c("current", LD_LIBRARY_PATH = "", R_HOME = R.home()), error_on_status = FALSE)
  sub(":+$", "", shell$stdout)
}

shows_progress <- function(quiet) !quiet && isTRUE(getOption("discreet.progress", interactive()))

drain <- function(child, output, bar, milliseconds) {
  child$poll_io(milliseconds)
  text <- child$read_output(65536L)
  output$text <- paste0(output$text, text)
  words <- child$read_error(65536L)
  if (nzchar(words)) {
    lines <- strsplit(paste0(output$rest, words), "\n", fixed = TRUE)[[1]]
    is_whole <- endsWith(words, "\n")
    output$rest <- if (is_whole) "" else lines[length(lines)]
    if (!is_whole) lines <- lines[-length(lines)]
    is_progress <- startsWith(lines, "{\"schema\": \"discreet/progress@1\"")
    output$words <- c(output$words, lines[!is_progress & nzchar(lines)])
    if (any(is_progress)) bar$show(jsonlite::fromJSON(lines[is_progress][sum(is_progress)]))
  }
  nzchar(text) || nzchar(words)
}

# The request that has no outcome yet, for dp_remote_release().
waiting_request <- function(text) tryCatch(jsonlite::fromJSON(text)$id, error = function(e) trimws(text))

# The command holds an interrupt back while it writes a step of the ledger, so it is given time before it is killed.
finish_interrupted <- function(child, output, bar, seconds = 15) {
  child$interrupt()
  last <- Sys.time() + seconds
  while (child$is_alive() && Sys.time() < last) drain(child, output, bar, 100L)
  end_child(child)
}

end_child <- function(child) if (child$is_alive()) child$kill_tree(close_connections = FALSE)

progress_bar <- function() {
  bar <- NULL
  work <- ""
  close_bar <- function() {
    if (!is.null(bar)) close(bar)
    bar <<- NULL
  }
  show <- function(line) {
    if (is.null(line$total) || is.na(line$total)) return(invisible())
    if (!identical(work, line$work)) {
      close_bar()
      work <<- line$work
      cat(line$work, "\n", sep = "", file = stderr())
      bar <<- txtProgressBar(0, line$total, style = 3, file = stderr())
    }
    setTxtProgressBar(bar, line$done)
  }
  list(show = show, close = close_bar)
}

# JSON of the command, as lists; its text stays beside it.
run_json <- function(arguments, quiet = FALSE) {
  text <- run_command(c(arguments, "--json"), quiet)
  list(text = text, value = jsonlite::fromJSON(text, simplifyVector = FALSE))
}
