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
  discreet_error(text, code)
}
