skip_without_command()

metadata <- clinic()
ledger <- granted(epsilon = 1)
table <- tempfile(fileext = ".csv")
write.csv(people(), table, row.names = FALSE)

# What is asked, the class of the error, and words of its message.
wrong <- list(
  "a column that is not declared" = list(quote(dp_select(visits ~ shoe, table, metadata, epsilon = 1, ledger = ledger)), "metadata|usage", "shoe"),
  "an epsilon of nothing" = list(quote(dp_select(visits ~ age, table, metadata, epsilon = 0, ledger = ledger)), "usage", "epsilon"),
  "more than is left" = list(quote(dp_select(visits ~ age, table, metadata, epsilon = 2, ledger = ledger)), "budget", "1 of 1 is left"),
  "no cap" = list(quote(dp_select(visits ~ age, table, metadata, epsilon = 1, ledger = tempfile())), "budget", "has no lifetime cap"),
  "no such file" = list(quote(dp_select(visits ~ age, "no-such.csv", metadata, epsilon = 1, ledger = ledger)), "usage", "no-such.csv"),
  "an unknown option" = list(quote(dp_select(visits ~ age, table, metadata, epsilon = 1, radius = 2)), "usage", "No such option: radius"),
  "an option of another method" = list(quote(dp_select(visits ~ age, table, metadata, epsilon = 1, alpha = 2)), "usage", "alpha"),
  "a product in a formula" = list(quote(dp_fit(visits ~ age * site, table, metadata, epsilon = 1)), "usage", "derived column"),
  "a frame without metadata" = list(quote(dp_fit(visits ~ age, people(), epsilon = 1)), "usage", "never taken from rows"),
  "a date" = list(quote(dp_fit(visits ~ age, transform(people(), age = Sys.Date()), metadata, epsilon = 1)), "data", "as.numeric"),
  "a frame without a column" = list(quote(dp_fit(visits ~ age, people()[-3], metadata, epsilon = 1)), "data", "income"),
  "a category that is stored as a number" = list(quote(dp_select(visits ~ age + site, transform(people(), site = 1), metadata, epsilon = 1, ledger = ledger)), "data", "site"),
  "a frame without all rows" = list(quote(dp_fit(visits ~ age, people(7), metadata, epsilon = 1)), "data", "declare 240 rows"),
  "metadata without bounds" = list(quote(dp_metadata(dataset = "a", n_rows = 9, columns = list(x = list(type = "real")))), "metadata", "x"),
  "no metadata file" = list(quote(dp_metadata("no-such.yaml")), "usage", "no-such.yaml"),
  "not a release" = list(quote(dp_read(table)), "usage", "must be JSON"),
  "no budget at all" = list(quote(dp_fit(visits ~ age, table, metadata)), "usage", "give epsilon"),
  "no ledger to show" = list(quote(dp_budget_show(ledger = "no-such.sqlite")), "budget", "no-such.sqlite")
)

for (name in names(wrong)) local({
  case <- wrong[[name]]
  test_that(paste0(name, " is an error of its class, in one line"), {
    problem <- tryCatch(eval(case[[1]]), error = identity)
    expect_s3_class(problem, "discreet_error")
    expect_match(class(problem)[1], paste0("^discreet_error_(", case[[2]], ")$"))
    expect_match(conditionMessage(problem), case[[3]], fixed = TRUE)
    expect_false(grepl("\n", conditionMessage(problem), fixed = TRUE))
    expect_false(startsWith(conditionMessage(problem), "Error"))
    expect_length(folders_left(), 0)
  })
})

test_that("no wrong input costs anything", {
  expect_equal(spent(ledger), 0)
})
