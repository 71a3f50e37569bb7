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
  answer <- run_json(c("metadata", "check", path), quiet = TRUE)$value
  structure(
    list(value = answer$metadata, findings = answer$findings, text = readLines(path, warn = FALSE, encoding = "UTF-8")),
    class = "discreet_metadata"
  )
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

# Names and types, and no row.
write_header <- function(data, folder) {
  columns <- lapply(data, function(cells) list(type = if (is.numeric(cells) || is.logical(cells)) "real" else "category"))
  write_frame(data[0L, , drop = FALSE], list(value = list(columns = columns)), folder)
}

print.discreet_metadata <- function(x, ...) {
  value <- x$value
  rows <- if (is.null(value$n_rows)) "number of rows not public" else paste(format(value$n_rows, big.mark = ","), "rows")
  cat("Metadata of ", value$dataset, ": ", rows, ", one ", value$unit, " protected (", value$neighboring, ")\n\n", sep = "")
  print(column_table(value$columns), row.names = FALSE, right = FALSE)
  for (finding in x$findings) cat("\n", finding$severity, ": ", finding$place, ": ", finding$message, "\n", sep = "")
  invisible(x)
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
