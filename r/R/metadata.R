# What is public about a table.

dp_metadata <- function(file = NULL, ..., dataset = NULL, unit = "person", neighboring = "replace_one", n_rows = NULL,
                        columns = NULL) {
  if (inherits(file, "discreet_metadata")) return(file)
  if (!is.null(file)) {
    if (!is.null(dataset) || !is.null(columns) || ...length()) refuse("Metadata are either a file or made here: leave one out.")
    return(checked_metadata(file_word(file, "The metadata")))
  }
  if (is.null(dataset) || is.null(columns)) refuse("Metadata need a file, or `dataset` and `columns`.")
  folder <- private_folder()
  on.exit(remove_folder(folder))
  fields <- c(
    list(schema = "discreet/metadata@1", dataset = dataset, unit = unit, neighboring = neighboring, n_rows = n_rows, ...),
    list(columns = lapply(columns, listed_levels))
  )
  fields <- fields[!vapply(fields, is.null, NA)]
  checked_metadata(write_private(as_json(fields), folder, "metadata.json"))
}

listed_levels <- function(column) {
  if (!is.null(column$levels)) column$levels <- I(as.character(column$levels))
  column
}

checked_metadata <- function(path) {
  answer <- tryCatch(
    run_json(c("metadata", "check", path), quiet = TRUE)$value,
    discreet_error_metadata = function(problem) stop(named_finding(problem))
  )
  structure(
    list(value = answer$metadata, findings = answer$findings, text = readLines(path, warn = FALSE, encoding = "UTF-8")),
    class = "discreet_metadata"
  )
}

# The first of the errors that were found, in place of their number.
named_finding <- function(problem) {
  found <- if (nzchar(problem$output)) jsonlite::fromJSON(problem$output, simplifyVector = FALSE)$findings
  errors <- Filter(function(finding) finding$severity == "error", found)
  if (length(errors)) problem$message <- paste0(errors[[1]]$place, ": ", errors[[1]]$message)
  problem
}

# The file of metadata for a command: as it was read, so that digests are the same.
metadata_file <- function(metadata, folder) {
  is_json <- grepl("^\\s*\\{", paste(metadata$text, collapse = "\n"))
  write_private(metadata$text, folder, if (is_json) "metadata.json" else "metadata.yaml")
}

dp_metadata_new <- function(data, file, dataset = NULL, unit = NULL, neighboring = NULL, n_rows = NULL, ...) {
  folder <- private_folder()
  on.exit(remove_folder(folder))
  if (is.data.frame(data)) data <- write_header(data, folder)
  words <- words_of(list(dataset = dataset, unit = unit, neighboring = neighboring, n_rows = n_rows, ...))
  run_command(c("metadata", "new", words, paste0("--out=", file_word(file, "`file`")), "--", file_word(data, "`data`")))
  invisible(file)
}

dp_demo <- function(folder, quiet = FALSE) {
  text <- run_command(c("demo", "--quiet"[quiet], paste0("--dir=", file_word(folder, "`folder`"))), quiet)
  if (!quiet) cat(text)
  invisible(folder)
}

dp_dummy <- function(metadata, file, rows = NULL) {
  folder <- private_folder()
  on.exit(remove_folder(folder))
  metadata <- metadata_file(dp_metadata(metadata), folder)
  out <- file_word(file, "`file`")
  run_command(c("dummy", paste0("--metadata=", metadata), paste0("--out=", out), words_of(list(rows = rows))), quiet = TRUE)
  invisible(file)
}

# Names and types, and no row.
write_header <- function(data, folder) {
  columns <- lapply(data, function(cells) list(type = if (is.numeric(cells) || is.logical(cells)) "real" else "category"))
  write_frame(data[0L, , drop = FALSE], list(value = list(columns = columns)), folder)
}

print.discreet_metadata <- function(x, ...) {
  value <- x$value
  rows <- if (is.null(value$n_rows)) "number of rows not public" else paste(format(value$n_rows, big.mark = ","), "rows")
  cat("Metadata of ", value$dataset, ": ", rows, ", one ", value$unit, " protected (", value$neighboring, ")\n\n", sep = "")
  print_cut(column_table(value$columns))
  for (finding in x$findings) {
    words <- paste0(finding$severity, ": ", finding$place, ": ", finding$message)
    cat("", strwrap(words, exdent = 2L), sep = "\n")
  }
  invisible(x)
}

# A table whose last column is cut where the line ends.
print_cut <- function(table) {
  others <- utils::capture.output(print(table[-ncol(table)], row.names = FALSE, right = FALSE))
  last <- format(c(names(table)[ncol(table)], as.character(table[[ncol(table)]])))
  room <- max(getOption("width") - max(nchar(others)) - 1L, 20L)
  is_long <- nchar(trimws(last, "right")) > room
  last <- substr(last, 1L, room)
  substr(last[is_long], room - 2L, room) <- "..."
  cat(trimws(paste(others, last), "right"), sep = "\n")
}

column_table <- function(columns) {
  allowed <- vapply(columns, function(column) {
    if (!is.null(column$levels)) return(paste(unlist(column$levels), collapse = ", "))
    if (is.null(column$lower)) return("")
    paste(format(column$lower), "to", format(column$upper))
  }, "")
  data.frame(
    column = names(columns), type = vapply(columns, function(column) as.character(column$type), ""), allowed = unname(allowed),
    source = vapply(columns, function(column) as.character(c(column$source, "")[1]), ""), stringsAsFactors = FALSE
  )
}
