skip_without_command()

test_that("metadata are made, saved, read and shown; the digest of what is public is that of the file", {
  metadata <- clinic()
  file <- tempfile(fileext = ".json")
  dp_save(metadata, file)
  expect_equal(dp_metadata(file)$value, metadata$value)
  expect_output(print(metadata), "Metadata of clinic: 240 rows, one person protected \\(replace_one\\)")
  expect_output(print(metadata), "north, south, west")
  expect_identical(dp_metadata(metadata), metadata)
  expect_error(dp_metadata(), "need a file", class = "discreet_error_usage")
  expect_error(dp_metadata(file, dataset = "a"), "leave one out", class = "discreet_error_usage")
})

test_that("a skeleton knows names and classes, and no level and no row", {
  file <- tempfile(fileext = ".yaml")
  data <- people()
  data$site <- factor(rep("Secret", nrow(data)))
  expect_message(dp_metadata_new(data, file, dataset = "clinic"), "Skeleton written")
  text <- paste(readLines(file), collapse = "\n")
  expect_match(text, "income")
  expect_false(grepl("Secret", text))
  expect_length(folders_left(), 0)
})

test_that("a fake table has the declared columns", {
  file <- tempfile(fileext = ".csv")
  dp_dummy(clinic(), file, rows = 7)
  fake <- read.csv(file)
  expect_equal(dim(fake), c(7L, 4L))
  expect_true(all(fake$site %in% c("north", "south", "west")))
})

test_that("a plan tells chances, and is drawn", {
  plan <- dp_plan(visits ~ age + income, metadata = clinic(), epsilon = c(1, 10), method = "pcls", alone = TRUE, tables = 2, quiet = TRUE)
  table <- summary(plan)
  expect_setequal(unique(table$epsilon), c(1, 10))
  expect_true(all(table$right >= 0 & table$right <= 1))
  expect_output(print(plan), "no data opened, nothing spent")
  grDevices::png(tempfile(fileext = ".png"))
  on.exit(grDevices::dev.off())
  expect_equal(dim(plot(plan))[1], 2L)
})

test_that("the ledger is a table", {
  ledger <- tempfile(fileext = ".sqlite")
  granted <- dp_budget_grant(clinic(), 4, 1e-5, ledger = ledger)
  expect_equal(granted$epsilon.left, 4)
  dp_budget_allot("clinic", "thesis", 1, ledger = ledger)
  expect_equal(dp_budget_history("clinic", ledger = ledger)$kind, c("grant", "allot"))
  expect_output(print(dp_budget_show("clinic", ledger = ledger)), "for each data set's lifetime")
  expect_equal(dp_budget_verify(ledger = ledger)$entries, 2L)
})

test_that("a data set of a service stands where a table would", {
  survey <- dp_remote("rand-hie", project = "demo", purpose = "why", wait = FALSE)
  expect_output(print(survey), "rand-hie")
  folder <- private_folder()
  on.exit(remove_folder(folder))
  ask <- asking(folder, survey, NULL)
  expect_equal(ask$command("select"), c("remote", "select"))
  expect_equal(ask$source, c("--project=demo", "--purpose=why", "--no-wait", "--yes"))
  expect_error(asking(folder, survey, clinic()), "leave `metadata` out", class = "discreet_error_usage")
})
