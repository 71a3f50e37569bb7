skip_without_command()

test_that("without an address and a key a service is not asked, and the error says how to give them", {
  earlier <- Sys.getenv(c("DISCREET_URL", "DISCREET_KEY", "XDG_CONFIG_HOME"), NA, names = TRUE)
  Sys.unsetenv(c("DISCREET_URL", "DISCREET_KEY"))
  Sys.setenv(XDG_CONFIG_HOME = tempdir())
  on.exit({
    Sys.unsetenv(names(earlier))
    known <- as.list(earlier[!is.na(earlier)])
    if (length(known)) do.call(Sys.setenv, known)
  })
  for (ask in alist(
    dp_remote_datasets(), dp_remote_budget("toy"), dp_remote_metadata("toy"), dp_remote_requests(state = "waiting"),
    dp_remote_show("abc"), dp_remote_release("abc", wait = FALSE), dp_remote_approve("abc"), dp_remote_reject("abc", "no"),
    dp_remote_withdraw("abc"), dp_select(y ~ ., dp_remote("toy"), epsilon = 1), dp_plan(y ~ ., dp_remote("toy"), epsilon = 1),
    dp_run(list(target = "y", epsilon = 1, select = list(method = "pcls"), fit = list(family = "linear")), dp_remote("toy"))
  )) {
    problem <- tryCatch(eval(ask), error = identity)
    expect_s3_class(problem, "discreet_error")
    expect_match(conditionMessage(problem), "discreet remote login URL|discreet-service", info = deparse1(ask))
  }
  expect_error(dp_remote_login("https://127.0.0.1:9", key_file = "no-such-key"), "no-such-key", class = "discreet_error_usage")
  expect_length(folders_left(), 0)
})
