# Arguments of the command from arguments of R: NAME_OF_IT = value is --name-of-it=value.

# Names in Python's classes that the command line spells otherwise.
other_spellings <- c(
  n_features_to_select = "n-features", groups = "group", shares = "share", codes = "code", fit_intercept = "intercept"
)

words_of <- function(options) {
  options <- options[!vapply(options, is.null, NA)]
  if (length(options) && (is.null(names(options)) || any(!nzchar(names(options))))) {
    refuse("Every further argument needs a name, such as l1_radius = 4.")
  }
  unlist(Map(option_words, names(options), options), use.names = FALSE)
}

option_words <- function(name, value) {
  flag <- if (name %in% names(other_spellings)) other_spellings[[name]] else gsub("_", "-", name, fixed = TRUE)
  if (name == "set") return(paste0("--set=", names(value), "=", vapply(value, as_json, "")))
  if (is.list(value)) return(unlist(lapply(unname(value), function(one) paste0("--", flag, "=", joined(one)))))
  if (is.logical(value) && length(value) == 1L && !is.na(value)) return(paste0(if (value) "--" else "--no-", flag))
  if (!is.null(names(value))) return(paste0("--", flag, "=", quoted_name(names(value)), "=", plain(value)))
  paste0("--", flag, "=", joined(value))
}

# Several values as one: COL,COL. A name alone is quoted where it could be read as several.
joined <- function(value) {
  if (is.character(value) && length(value) > 1L) value <- quoted_name(value)
  paste(plain(value), collapse = ",")
}

quoted_name <- function(name) {
  odd <- grepl("[,\"]|^ ", name)
  name[odd] <- paste0("\"", gsub("\"", "\"\"", name[odd], fixed = TRUE), "\"")
  name
}

# Numbers with as few digits as say them exactly.
plain <- function(value) {
  if (is.factor(value)) value <- as.character(value)
  if (!is.atomic(value) || anyNA(value)) refuse("An argument must be numbers or text without NA.")
  if (!is.numeric(value)) return(enc2utf8(as.character(value)))
  vapply(unname(value), function(number) {
    short <- format(number, digits = 15L, trim = TRUE, scientific = if (abs(number) >= 1e-12 && abs(number) < 1e15) FALSE else NA)
    if (identical(as.numeric(short), as.numeric(number))) short else format(number, digits = 17L)
  }, "")
}

as_json <- function(value) {
  as.character(jsonlite::toJSON(value, auto_unbox = TRUE, digits = NA, null = "null"))
}

file_word <- function(path, what) {
  if (!is.character(path) || length(path) != 1L || is.na(path)) refuse(what, " must be the path of one file.")
  enc2utf8(path.expand(path))
}

# What a formula asks: target, columns, and further options. A '.' alone may be the command's default: all declared columns.
read_formula <- function(formula, metadata = NULL, is_default = FALSE) {
  if (!inherits(formula, "formula") || length(formula) != 3L) refuse("The formula must have two sides, such as visits ~ age + site.")
  if (!is.name(formula[[2]])) {
    refuse("The left side of the formula must be a column, but it is ", deparse1(formula[[2]]), ". Declare a derived column in the metadata.")
  }
  asked <- list(target = as.character(formula[[2]]), columns = character(), options = list())
  for (term in additive_terms(formula[[3]])) asked <- with_term(asked, term)
  if (is_default && identical(asked$columns, ".")) asked$columns <- character()
  if ("." %in% asked$columns) {
    others <- if (is.null(metadata)) NULL else setdiff(names(metadata$value$columns), c(asked$target, unlist(asked$options)))
    if (is.null(others)) refuse("The formula has a '.', so the metadata are needed to tell the columns.")
    asked$columns <- unique(c(setdiff(asked$columns, "."), others))
  }
  asked$columns <- unique(asked$columns)
  asked
}

additive_terms <- function(term) {
  if (is.call(term) && identical(term[[1]], as.name("+"))) return(unlist(lapply(as.list(term)[-1], additive_terms)))
  if (is.call(term) && identical(term[[1]], as.name("-")) && identical(term[[length(term)]], 1)) {
    return(c(if (length(term) == 3L) additive_terms(term[[2]]), list(0)))
  }
  if (is.call(term) && identical(term[[1]], as.name("("))) return(additive_terms(term[[2]]))
  list(term)
}

with_term <- function(asked, term) {
  if (is.name(term)) asked$columns <- c(asked$columns, as.character(term))
  else if (identical(term, 0)) asked$options$intercept <- FALSE
  else if (identical(term, 1)) asked$options$intercept <- NULL
  else if (is_offset(term)) asked$options <- c(asked$options, offset_option(term[[2]]))
  else {
    refuse(
      "A formula may have columns, 0, and offset(), joined by +, but it has ", deparse1(term),
      ". Declare a derived column in the metadata, and name that."
    )
  }
  asked
}

is_offset <- function(term) is.call(term) && identical(term[[1]], as.name("offset")) && length(term) == 2L

offset_option <- function(inner) {
  if (is.name(inner)) return(list(offset = as.character(inner)))
  if (is.call(inner) && identical(inner[[1]], as.name("log")) && is.name(inner[[2]])) return(list(exposure = as.character(inner[[2]])))
  refuse("An offset must be a column or the logarithm of one, but it is ", deparse1(inner), ".")
}
