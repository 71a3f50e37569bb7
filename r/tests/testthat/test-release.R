skip_without_command()

metadata <- clinic()
ledger <- granted(1000)
fit <- dp_fit(visits ~ age + site, people(), metadata, epsilon = 50, delta = 1e-4, ledger = ledger, quiet = TRUE)
moments <- dp_select(visits ~ ., people(), metadata, epsilon = 20, delta = 1e-4, method = "moments", ledger = ledger, quiet = TRUE)

drawn <- function(plot_it) {
  file <- tempfile(fileext = ".png")
  grDevices::png(file)
  on.exit(grDevices::dev.off())
  plot_it
}

test_that("a fit is read as regressions are", {
  expect_named(coef(fit), c("(Intercept)", "age", "site=south", "site=west"))
  expect_equal(unname(coef(fit)["age"]), 0.2, tolerance = 0.3)
  limits <- confint(fit)
  expect_equal(colnames(limits), c("2.5 %", "97.5 %"))
  expect_true(limits["age", 1] < coef(fit)["age"] && coef(fit)["age"] < limits["age", 2])
  narrow <- confint(fit, "age", level = 0.5)
  expect_equal(dim(narrow), c(1L, 2L))
  expect_true(diff(narrow[1, ]) < diff(limits["age", ]))
  expect_identical(nobs(fit), 240L)
  expect_output(print(fit), "Coefficients:")
  expect_equal(summary(fit)$coefficients[, "Estimate"], coef(fit))
  expect_identical(formula(fit), visits ~ age + site, ignore_attr = TRUE)
  for (of_rows in list(residuals, fitted, deviance, logLik, AIC, anova)) {
    expect_error(of_rows(fit), "holds no rows", class = "discreet_error_usage")
  }
  expect_error(vcov(fit), "summary\\(fit\\)\\$coefficients", class = "discreet_error_usage")
  shown <- utils::capture.output(print(summary(fit)))
  expect_match(paste(shown, collapse = "\n"), "Estimate +Std. Error +2.5 % +97.5 % +Privacy")
  expect_false(any(grepl("Pr\\(|p-value|\\*\\*", shown)))
  expect_match(shown, "Guarantee: epsilon 50, delta 0.0001, replace_one, per person", all = FALSE)
})

test_that("predictions are those of the coefficients, and new data are no argument of a process", {
  notes <- tempfile()
  dir.create(notes)
  script <- tempfile()
  writeLines(c("#!/bin/sh", sprintf("echo \"$*\" >> %s/arguments", notes), sprintf("exec %s \"$@\"", dp_command())), script)
  Sys.chmod(script, "0700")
  earlier <- options(discreet.command = script)
  on.exit(options(earlier))
  new <- data.frame(age = c(31, 61), site = factor(c("north", "west")), row.names = c("a", "b"))
  expected <- coef(fit)["(Intercept)"] + coef(fit)["age"] * new$age + c(0, coef(fit)["site=west"])
  expect_equal(predict(fit, new), c(a = expected[[1]], b = expected[[2]]))
  both <- predict(fit, new, interval = "confidence", level = 0.9)
  expect_equal(dim(both), c(2L, 3L))
  expect_true(all(both[, "lwr"] < both[, "fit"] & both[, "fit"] < both[, "upr"]))
  said <- readLines(file.path(notes, "arguments"))
  expect_match(said, "predict --values=", all = FALSE)
  expect_false(any(grepl("north|west", said))) # a number could stand in a path by chance
  expect_error(predict(fit, data.frame(age = 40)), class = "discreet_error_usage")
  expect_error(predict(fit), "give `newdata`", class = "discreet_error_usage")
  expect_error(predict(moments, new), "has no coefficients", class = "discreet_error_usage")
})

test_that("intervals of other families are at the level that was asked", {
  logistic <- fit
  logistic$method <- "logistic"
  expect_error(confint(logistic, level = 0.5), "when you fit", class = "discreet_error_usage")
})

test_that("what cannot be told is infinite and has no standard error", {
  open <- fit
  open$fit$coefficients[[2]]["high"] <- list(NULL)
  expect_equal(confint(open)["age", 2], Inf)
  expect_true(is.na(coefficients_of(open)$std.error[2]))
  expect_silent(drawn(plot(open)))
  expect_output(print(summary(open)), "Inf")
})

test_that("a selection tells the best models", {
  expect_output(print(moments), "Selected of 3 columns")
  expect_output(print(summary(moments)), "Best model of each size")
  expect_silent(sizes <- drawn(plot(moments)))
  expect_equal(nrow(sizes), length(moments$by_size))
  expect_equal(sizes$criterion[1], min(sizes$criterion))
  expect_error(coef(moments), "dp_fit\\(from = release", class = "discreet_error_usage")
  names_alone <- moments
  names_alone$by_size <- list()
  expect_error(plot(names_alone), "no figures to plot", class = "discreet_error_usage")
})

test_that("coefficients are drawn over the range of a column, or per unit", {
  over_range <- drawn(plot(fit))
  per_unit <- drawn(plot(fit, per = "unit", intercept = TRUE))
  expect_equal(over_range$estimate[over_range$term == "age"], 110 * coef(fit)[["age"]])
  expect_equal(per_unit$estimate, unname(coef(fit)))
})

test_that("tidy and glance are there with generics", {
  skip_if_not_installed("generics")
  table <- generics::tidy(fit)
  expect_equal(table$term, names(coef(fit)))
  expect_equal(names(table), c("term", "estimate", "std.error", "conf.low", "conf.high", "privacy.share"))
  expect_equal(generics::tidy(moments)$term, unlist(moments$selected))
  line <- generics::glance(fit)
  expect_equal(c(line$epsilon, line$nobs), c(50, 240))
})

test_that("a saved release is the same to the byte, and a changed one is found out", {
  file <- tempfile(fileext = ".json")
  dp_save(fit, file)
  expect_equal(dp_read(file)$text, sub("\n$", "", fit$text))
  expect_silent(dp_budget_verify(dp_read(file), ledger = ledger))
  writeLines(sub("\"epsilon\": 50.0", "\"epsilon\": 5.0", readLines(file)), file)
  expect_error(dp_budget_verify(dp_read(file), ledger = ledger), class = "discreet_error_verification")
})

test_that("whether intervals hold after a selection is said as the report says it", {
  chosen <- dp_fit(from = moments, quiet = TRUE)
  expect_match(after_selection(chosen), "hold after the selection|is not guaranteed")
  expect_equal(after_selection(fit), "")
  text <- unclass(dp_report(fit, audience = "participant"))
  expect_match(text, "visits")
})

test_that("a report is a text or a file", {
  file <- tempfile(fileext = ".html")
  expect_equal(dp_report(fit, file, audience = "analyst"), file)
  expect_match(paste(readLines(file), collapse = "\n"), "<html")
  expect_output(print(dp_report(moments, format = "markdown")), "visits")
})

test_that("what is no release cannot be reported, saved or fitted", {
  expect_error(dp_report(list()), "A release must be one", class = "discreet_error_usage")
  expect_error(dp_save(1, tempfile()), "can be saved", class = "discreet_error_usage")
  expect_error(new_release(list(text = "{}", value = list())), "not a release", class = "discreet_error_verification")
})
