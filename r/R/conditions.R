# Errors as conditions whose class says what kind it is, like the exit code of the command.

exit_classes <- c(
  "1" = "internal", "2" = "usage", "3" = "metadata", "4" = "budget", "5" = "data", "6" = "authorisation",
  "7" = "waiting", "8" = "verification", "9" = "policy", "127" = "missing", "130" = "interrupted"
)

# A condition of class discreet_error_KIND, discreet_error, error.
discreet_error <- function(message, code = 2L) {
  kind <- exit_classes[as.character(code)]
  if (is.na(kind)) kind <- "internal"
  structure(
    class = c(paste0("discreet_error_", kind), "discreet_error", "error", "condition"),
    list(message = message, call = NULL, code = as.integer(code))
  )
}

refuse <- function(..., code = 2L) stop(discreet_error(paste0(...), code))

# The error that the command ended with. What is no line of its own, such as a killed process, is named by its code.
command_error <- function(stderr, code) {
  said <- grep("^Error: ", stderr, value = TRUE)
  text <- if (length(said)) sub("^Error: ", "", said[length(said)]) else if (length(stderr)) stderr[length(stderr)] else ""
  if (!nzchar(text)) text <- sprintf("The command discreet ended with code %s and said nothing.", code)
  discreet_error(in_r(text), code)
}

# Options of the command as arguments of a function: `--l1-radius` is `l1_radius`. Commands between backticks stay.
in_r <- function(text) {
  parts <- strsplit(text, "`", fixed = TRUE)[[1]]
  outside <- seq_along(parts) %% 2L == 1L
  options <- "(^|[^[:alnum:]-])--([a-z0-9]+(-[a-z0-9]+)*)"
  for (place in which(outside)) {
    found <- regmatches(parts[place], gregexpr(options, parts[place]))
    regmatches(parts[place], gregexpr(options, parts[place])) <- list(gsub("-", "_", sub("--", "", found[[1]], fixed = TRUE), fixed = TRUE))
  }
  paste0(paste(parts, collapse = "`"), if (endsWith(text, "`")) "`")
}
