# A release in words, for those who decide, analysts or participants.

dp_report <- function(release, file = NULL, audience = c("board", "analyst", "participant"), format = NULL, contact = NULL) {
  folder <- private_folder()
  on.exit(remove_folder(folder))
  if (!is.null(file)) file <- file_word(file, "`file`")
  words <- words_of(list(audience = match.arg(audience), format = format, contact = contact, out = file))
  text <- run_command(c("report", words, "--", release_file(release, folder)), quiet = TRUE)
  if (is.null(file)) structure(sub("\n$", "", text), class = "discreet_report") else invisible(file)
}

print.discreet_report <- function(x, ...) {
  cat(x, "\n", sep = "")
  invisible(x)
}
