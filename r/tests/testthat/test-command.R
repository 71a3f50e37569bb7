test_that("a command that is not there, is none, or is too old is named with what to do", {
  script <- function(line) {
    path <- tempfile()
    writeLines(c("#!/bin/sh", line), path)
    Sys.chmod(path, "0700")
    path
  }
  earlier <- options(discreet.command = NULL)
  on.exit(options(earlier))
  for (case in list(
    list("/no/such/discreet", "pip install discreet"), list(tempdir(), "pip install discreet"),
    list(script("echo something else"), "does not tell a version"), list(script("echo discreet 0.0.9"), "0.1.0 or later")
  )) {
    options(discreet.command = case[[1]])
    expect_error(dp_command(), case[[2]], class = "discreet_error_missing")
    expect_false(dp_available())
  }
})

test_that("the class of an error is that of the exit code", {
  codes <- c(1:9, 127L, 130L)
  classes <- vapply(codes, function(code) class(command_error(c("words", "Error: it must be so."), code))[1], "")
  expect_length(unique(classes), length(codes))
  expect_equal(conditionMessage(command_error(c("words", "Error: it must be so."), 4L)), "it must be so.")
  expect_match(conditionMessage(command_error(character(), -9L)), "code -9")
  expect_s3_class(command_error(character(), -9L), "discreet_error_internal")
})

test_that("progress of long work shows as a bar, words as messages, and the result is whole", {
  skip_on_os("windows")
  lines <- c(
    "#!/bin/sh", "[ \"$1\" = --version ] && echo discreet 0.1.0 && exit", "echo words for people >&2",
    "for done in 1 2 3 4; do printf '{\"schema\": \"discreet/progress@1\", \"work\": \"Simulating\", \"done\": %s, \"total\": 4}\\n' $done >&2; done",
    "head -c 300000 /dev/zero | tr '\\0' x"
  )
  path <- tempfile()
  writeLines(lines, path)
  Sys.chmod(path, "0700")
  earlier <- options(discreet.command = path, discreet.progress = TRUE)
  on.exit(options(earlier))
  shown <- utils::capture.output(expect_message(text <- run_command("anything"), "words for people"), type = "output")
  expect_equal(nchar(text), 300000)
})
