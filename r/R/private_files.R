# Files that only the user can read, in a folder that is gone when the call is over.

# A fresh folder of mode 0700. Whoever calls removes it on exit, whatever happens.
private_folder <- function() {
  folder <- tempfile("discreet-")
  if (!dir.create(folder, mode = "0700")) refuse("No private folder could be made in ", tempdir(), ".", code = 1L)
  folder
}

remove_folder <- function(folder) unlink(folder, recursive = TRUE, force = TRUE)

write_private <- function(text, folder, name) {
  path <- file.path(folder, name)
  mask <- Sys.umask("077")
  on.exit(Sys.umask(mask))
  writeLines(enc2utf8(text), path, useBytes = TRUE)
  path
}

# SQLite itself takes at most this many columns.
most_columns <- 2000L

# The declared columns of a data frame, in a file of mode 0600. Rows go nowhere else.
write_frame <- function(data, metadata, folder) {
  cells <- declared_cells(data, metadata)
  mask <- Sys.umask("077")
  on.exit(Sys.umask(mask))
  if (length(cells) > most_columns) return(write_arrow(cells, folder))
  path <- file.path(folder, "data.frame.sqlite")
  connection <- RSQLite::dbConnect(RSQLite::SQLite(), path, synchronous = "off")
  on.exit(RSQLite::dbDisconnect(connection), add = TRUE, after = FALSE)
  RSQLite::dbExecute(connection, "PRAGMA journal_mode = MEMORY") # no second file with rows
  types <- vapply(cells, storage_type, "")
  fields <- paste(RSQLite::dbQuoteIdentifier(connection, names(cells)), types)
  RSQLite::dbExecute(connection, sprintf("CREATE TABLE data_frame (%s)", paste(fields, collapse = ", ")))
  RSQLite::dbAppendTable(connection, "data_frame", cells)
  path
}

write_arrow <- function(cells, folder) {
  if (!requireNamespace("arrow", quietly = TRUE)) {
    refuse(
      "A data frame of more than ", most_columns, " columns needs the package arrow, which is not installed. ",
      "Install it, or give the path of a CSV or Parquet file."
    )
  }
  path <- file.path(folder, "data.frame.arrow")
  arrow::write_feather(cells, path, compression = "uncompressed")
  path
}

storage_type <- function(cells) {
  if (is.character(cells)) "TEXT" else if (is.integer(cells) || inherits(cells, "integer64")) "INTEGER" else "REAL"
}

# Columns as SQLite keeps them. Which of them is decided by the metadata and the classes of the columns, never by a cell.
declared_cells <- function(data, metadata) {
  twice <- unique(names(data)[duplicated(names(data))])
  if (length(twice)) refuse("Columns must have names of their own, but ", sQuote(twice[1], FALSE), " is there twice.", code = 5L)
  declared <- wanted_columns(metadata, names(data))
  cells <- Map(function(name, column) stored_cells(data[[name]], name, column), names(declared), declared)
  structure(cells, class = "data.frame", row.names = .set_row_names(nrow(data)))
}

wanted_columns <- function(metadata, present) {
  columns <- metadata$value$columns
  stored <- columns[vapply(columns, function(column) is.null(column$derived), NA)]
  if (!is.null(metadata$value$unit_id)) stored[[metadata$value$unit_id]] <- list(type = "identifier")
  features <- metadata$value$features
  if (!is.null(features)) {
    named <- if (is.null(features$names)) grep(utils::glob2rx(features$match), present, value = TRUE) else unlist(features$names)
    for (name in setdiff(named, names(stored))) stored[[name]] <- list(type = features$type)
  }
  lacking <- setdiff(names(stored), present)
  if (length(lacking)) {
    refuse("The data frame must have every declared column, but ", sQuote(lacking[1], FALSE), " is not there.", code = 5L)
  }
  stored
}

stored_cells <- function(cells, name, column) {
  is_category <- column$type %in% c("category", "identifier")
  if (is.factor(cells)) return(enc2utf8(as.character(cells)))
  if (is.character(cells)) return(enc2utf8(cells))
  if (is.logical(cells)) return(if (is_category) logical_text(cells, column$levels) else as.integer(cells))
  if (inherits(cells, c("Date", "POSIXt"))) {
    if (is_category) return(if (inherits(cells, "Date")) format(cells, "%Y-%m-%d") else format(cells, "%Y-%m-%d %H:%M:%S"))
    refuse(
      "Column ", sQuote(name, FALSE), " is declared as a number, but it holds dates, which metadata cannot declare. ",
      "Make it a number with bounds, such as days since a date: as.numeric(", name, " - as.Date(\"2020-01-01\")).", code = 5L
    )
  }
  if (is.numeric(cells) && is.null(dim(cells)) && !inherits(cells, "difftime")) {
    return(if (inherits(cells, "integer64")) cells else if (is.integer(cells)) as.integer(cells) else as.double(cells))
  }
  refuse(
    "Column ", sQuote(name, FALSE), " must hold numbers, text, a factor or truth values, but its class is ",
    class(cells)[1], ". Convert it first.", code = 5L
  )
}

# As the levels spell them: true, TRUE, or 1.
logical_text <- function(cells, levels) {
  levels <- unlist(levels)
  spelled <- Filter(function(pair) any(pair %in% levels), list(c("FALSE", "TRUE"), c("false", "true"), c("0", "1")))
  c(spelled, list(c("FALSE", "TRUE")))[[1]][cells + 1L]
}
