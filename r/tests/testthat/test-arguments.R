test_that("options become words that mean the same", {
  expect_equal(words_of(list(l1_radius = 4, epsilon = 1e-6, delta = 0.1)), c("--l1-radius=4", "--epsilon=0.000001", "--delta=0.1"))
  expect_equal(words_of(list(candidates = c("a", "b,c", "d\"e"))), "--candidates=a,\"b,c\",\"d\"\"e\"")
  expect_equal(words_of(list(groups = list(c("a", "b"), "c"))), c("--group=a,b", "--group=c"))
  expect_equal(words_of(list(share = c(y_center = 0.1, y_bound = 0.05))), c("--share=y_center=0.1", "--share=y_bound=0.05"))
  expect_equal(words_of(list(alone = TRUE, intercept = FALSE, target = NULL)), c("--alone", "--no-intercept"))
  expect_equal(words_of(list(set = list(gamma = 0.5, models = c("a", "b")))), c("--set=gamma=0.5", "--set=models=[\"a\",\"b\"]"))
  expect_equal(words_of(list(n_rows = c(500L, 2000L), n_features_to_select = 3)), c("--n-rows=500,2000", "--n-features=3"))
})

test_that("numbers are said exactly", {
  numbers <- c(0.1, 1 / 3, 1e-300, 123456789012, 1e15, 2, -0.5)
  expect_identical(as.numeric(plain(numbers)), numbers)
  expect_equal(plain(100000), "100000")
})

test_that("a formula says target, columns, constant, offset and exposure", {
  asked <- read_formula(visits ~ age + (site + income) + 0 + offset(log(days)))
  expect_equal(asked, list(target = "visits", columns = c("age", "site", "income"), options = list(intercept = FALSE, exposure = "days")))
  expect_equal(read_formula(y ~ a - 1 + offset(b))$options, list(intercept = FALSE, offset = "b"))
  public <- list(value = list(columns = list(y = 1, a = 2, b = 3)))
  expect_equal(read_formula(y ~ ., public)$columns, c("a", "b"))
  expect_equal(read_formula(y ~ . + offset(b), public)$columns, "a")
  expect_equal(read_formula(y ~ ., is_default = TRUE)$columns, character()) # of the command, also where a service has the metadata
})

test_that("a formula of something else is refused", {
  for (formula in list(y ~ a:b, y ~ a * b, y ~ poly(a, 2), log(y) ~ a, ~a, y ~ offset(a * b), y ~ .)) {
    expect_error(read_formula(formula), class = "discreet_error_usage")
  }
})

test_that("families are named as R names them, too", {
  expect_equal(vapply(list(gaussian, binomial(), "poisson", "logistic"), family_name, ""), c("linear", "logistic", "poisson", "logistic"))
  expect_error(family_name(2), class = "discreet_error_usage")
})

test_that("what cannot be an argument is refused before anything is asked", {
  expect_error(words_of(list(2)), "needs a name", class = "discreet_error_usage")
  expect_error(words_of(list(a = NA_real_)), "without NA", class = "discreet_error_usage")
  expect_error(file_word(c("a", "b"), "The plan"), "The plan must be the path of one file", class = "discreet_error_usage")
  expect_error(asked_columns(y ~ a, "y", NULL, NULL), "leave one out", class = "discreet_error_usage")
})
