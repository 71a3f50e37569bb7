declare <- function(...) list(value = list(columns = list(...)))

test_that("columns keep their types: labels of factors, truth values, numbers, text, missing cells", {
  folder <- private_folder()
  on.exit(remove_folder(folder))
  data <- data.frame(
    f = factor(c("b", NA, "a"), levels = c("b", "a")), i = c(1L, NA, 3L), x = c(0.1, NA, NaN), t = c("\u00e4", "", NA),
    yes = c(TRUE, FALSE, NA), smoker = c(TRUE, FALSE, NA), day = as.Date(c("2020-02-29", NA, "1999-12-31")), other = 1:3
  )
  category <- function(...) list(type = "category", levels = list(...))
  public <- declare(
    f = category("a", "b"), i = list(type = "integer"), x = list(type = "real"), t = category("\u00e4"),
    yes = list(type = "integer"), smoker = category("false", "true"), day = category("2020-02-29"),
    twice = list(type = "real", derived = "2 * x")
  )
  path <- write_frame(data, public, folder)
  written <- types_in(path)
  expect_equal(written$types, c("TEXT", "INTEGER", "REAL", "TEXT", "INTEGER", "TEXT", "TEXT"))
  expect_equal(names(written$rows), c("f", "i", "x", "t", "yes", "smoker", "day")) # neither what is derived nor undeclared
  expect_equal(written$rows$f, c("b", NA, "a"))
  expect_equal(written$rows$t, c("\u00e4", "", NA))
  expect_equal(written$rows$yes, c(1L, 0L, NA))
  expect_equal(written$rows$smoker, c("true", "false", NA))
  expect_equal(written$rows$day, c("2020-02-29", NA, "1999-12-31"))
  expect_equal(written$rows$x, c(0.1, NA, NA))
  expect_equal(format(file.info(path)$mode), "600")
  expect_equal(format(file.info(folder)$mode), "700")
  expect_equal(list.files(folder, all.files = TRUE, no.. = TRUE), "data.frame.sqlite")
})

test_that("levels that are spelled TRUE or 1 are kept so", {
  expect_equal(logical_text(c(TRUE, NA, FALSE), list("FALSE", "TRUE")), c("TRUE", NA, "FALSE"))
  expect_equal(logical_text(c(TRUE, NA, FALSE), list("0", "1")), c("1", NA, "0"))
})

test_that("features and the unit's column are written too", {
  data <- data.frame(y = 1:2, g_1 = 1:2, g_2 = 3:4, h = 5:6, person = c("a", "b"))
  public <- list(value = list(columns = list(y = list(type = "integer")), unit_id = "person", features = list(match = "g_*", type = "real")))
  expect_equal(names(declared_cells(data, public)), c("y", "person", "g_1", "g_2"))
})

test_that("what metadata cannot declare is refused, by the class of the column alone", {
  number <- declare(a = list(type = "real"))
  refused <- function(cells, words) {
    data <- structure(list(a = cells), class = "data.frame", row.names = seq_along(cells))
    expect_error(declared_cells(data, number), words, class = "discreet_error_data")
  }
  refused(Sys.Date(), "holds dates, which metadata cannot declare")
  refused(Sys.time(), "holds dates")
  refused(1i, "its class is complex")
  refused(list(1), "its class is list")
  refused(as.difftime(1, units = "days"), "its class is difftime")
  expect_error(declared_cells(data.frame(b = 1), number), "every declared column, but 'a'", class = "discreet_error_data")
  expect_error(declared_cells(data.frame(a = 1, a = 2, check.names = FALSE), number), "'a' is there twice", class = "discreet_error_data")
})

test_that("a very wide frame needs arrow", {
  skip_if(requireNamespace("arrow", quietly = TRUE))
  data <- as.data.frame(matrix(0, 1, most_columns + 1L))
  public <- list(value = list(columns = setNames(rep(list(list(type = "real")), ncol(data)), names(data))))
  folder <- private_folder()
  on.exit(remove_folder(folder))
  expect_error(write_frame(data, public, folder), "needs the package arrow", class = "discreet_error_usage")
  expect_length(list.files(folder), 0)
})
