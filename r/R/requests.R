# Questions to the command: plans are free; selections, fits and runs spend budget.

dp_plan <- function(formula = NULL, data = NULL, metadata = NULL, epsilon = NULL, ..., target = NULL, candidates = NULL, quiet = FALSE) {
  folder <- private_folder()
  on.exit(remove_folder(folder))
  ask <- asking(folder, data, metadata, spends = FALSE)
  asked <- asked_columns(formula, target, candidates, ask$metadata, is_default = TRUE)
  words <- words_of(c(list(target = asked$target, candidates = asked$columns, epsilon = epsilon, ...), asked$options))
  answer <- run_json(c(ask$command("plan"), ask$public, words), quiet)
  structure(c(answer["text"], answer$value), class = "discreet_plan")
}

dp_select <- function(formula = NULL, data = NULL, metadata = NULL, epsilon, ..., target = NULL, candidates = NULL, models = NULL,
                      ledger = NULL, fresh = FALSE, dry_run = FALSE, quiet = FALSE) {
  folder <- private_folder()
  on.exit(remove_folder(folder))
  ask <- asking(folder, data, metadata, dry_run = dry_run)
  asked <- asked_columns(formula, target, candidates, ask$metadata, is_default = TRUE)
  if (is.list(models)) models <- write_private(as_json(lapply(models, as.list)), folder, "models.json")
  options <- c(list(target = asked$target, candidates = asked$columns, epsilon = epsilon, models = models, ...), asked$options)
  spend("select", ask, words_of(options), ledger, fresh, dry_run, quiet)
}

dp_fit <- function(formula = NULL, data = NULL, metadata = NULL, epsilon = NULL, delta = NULL, family = "linear", ..., from = NULL,
                   target = NULL, columns = NULL, ledger = NULL, fresh = FALSE, dry_run = FALSE, quiet = FALSE) {
  folder <- private_folder()
  on.exit(remove_folder(folder))
  ask <- asking(folder, data, metadata, dry_run = dry_run)
  asked <- asked_columns(formula, target, columns, ask$metadata)
  family <- family_name(family)
  options <- list(target = asked$target, columns = asked$columns, epsilon = epsilon, delta = delta, ...)
  if (family != "linear" || is.null(from)) options$family <- family
  words <- c(words_of(c(options, asked$options)), if (!is.null(from)) paste0("--from=", release_file(from, folder)))
  spend("fit", ask, words, ledger, fresh, dry_run, quiet)
}

dp_run <- function(plan, data = NULL, metadata = NULL, ..., ledger = NULL, fresh = FALSE, dry_run = FALSE, quiet = FALSE) {
  folder <- private_folder()
  on.exit(remove_folder(folder))
  ask <- asking(folder, data, metadata, dry_run = dry_run)
  if (is.list(plan)) {
    plan <- write_private(as_json(c(if (is.null(plan$schema)) list(schema = "discreet/run@1"), plan)), folder, "plan.json")
  }
  spend("run", ask, words_of(list(...)), ledger, fresh, dry_run, quiet, last = c("--", file_word(plan, "The plan")))
}

# Metadata and table of one call. What is written goes to the private folder, which is removed whatever happens here.
# An SQLite file states no number of rows, so the command cannot compare it before a charge.
check_rows <- function(data, public) {
  if (is.null(public) || nrow(data) == public) return(invisible())
  refuse(
    "The metadata declare ", plain(public), " rows, but the data frame has another number. Pass all rows, or correct n_rows.",
    code = 5L
  )
}

asking <- function(folder, data, metadata, spends = TRUE, dry_run = FALSE) {
  is_remote <- inherits(data, "discreet_remote")
  if (is_remote && !is.null(metadata)) refuse("A service has the metadata of its tables: leave `metadata` out.")
  if (!is.null(metadata)) metadata <- dp_metadata(metadata)
  if (is.data.frame(data) && is.null(metadata)) refuse("A data frame needs `metadata`: bounds and levels are never taken from rows.")
  if (is.data.frame(data)) check_rows(data, metadata$value$n_rows)
  if (dry_run && is.data.frame(data)) data <- data[0L, , drop = FALSE] # its header is enough
  public <- if (is.null(metadata)) character() else paste0("--metadata=", metadata_file(metadata, folder))
  table <- if (spends && !is_remote) table_words(data, metadata, folder) else character()
  how <- if (is_remote) c(words_of(data[c("project", "purpose")]), if (!data$wait) "--no-wait") else c(public, table)
  list(
    metadata = metadata, is_remote = is_remote, dataset = if (is_remote) data$dataset,
    command = function(name) if (is_remote) c("remote", name) else name,
    public = if (is_remote) data$dataset else public, source = c(how, "--yes")
  )
}

table_words <- function(data, metadata, folder) {
  if (is.null(data)) return(character())
  if (is.data.frame(data)) return(c(paste0("--data=", write_frame(data, metadata, folder)), "--stated"))
  paste0("--data=", file_word(data, "`data`"))
}

asked_columns <- function(formula, target, columns, metadata, is_default = FALSE) {
  if (is.null(formula)) return(list(target = target, columns = columns, options = list()))
  if (!is.null(target) || !is.null(columns)) refuse("Columns are named by the formula or by arguments: leave one out.")
  asked <- read_formula(formula, metadata, is_default)
  if (!length(asked$columns)) asked$columns <- NULL
  asked
}

family_name <- function(family) {
  if (is.function(family)) family <- family()
  if (inherits(family, "family")) family <- family$family
  if (!is.character(family) || length(family) != 1L) refuse("The family must be \"linear\", \"logistic\" or \"poisson\".")
  switch(family, gaussian = "linear", binomial = "logistic", family)
}

spend <- function(name, ask, words, ledger, fresh, dry_run, quiet, last = NULL) {
  kept <- if (!ask$is_remote) c(words_of(list(ledger = if (!is.null(ledger)) path.expand(ledger))), if (fresh) "--fresh")
  last <- c(last, if (ask$is_remote) c(if (is.null(last)) "--", ask$dataset))
  if (ask$is_remote && name == "run") last <- c("--", ask$dataset, last[2])
  answer <- run_json_before(c(ask$command(name), ask$source, kept, if (dry_run) "--dry-run", words), last, quiet)
  n_rows <- ask$metadata$value$n_rows
  if (dry_run) structure(c(answer["text"], answer$value), class = "discreet_dry_run") else new_release(answer, n_rows)
}

run_json_before <- function(words, last, quiet) {
  text <- run_command(c(words, "--json", last), quiet)
  list(text = text, value = jsonlite::fromJSON(text, simplifyVector = FALSE))
}

print.discreet_dry_run <- function(x, ...) {
  cat("Dry run for ", x$target, " on ", length(x$candidates), " columns, by ", x$method, "\n\n", sep = "")
  cat("  cost       epsilon ", plain(x$cost$epsilon), ", delta ", plain(x$cost$delta), " (", x$neighboring, ")\n", sep = "")
  for (step in x$steps) {
    cat(sprintf("  %-10s noise of scale %s, in %s\n", step$name, format(step$noise$scale, digits = 5), step$noise$unit))
  }
  if (!length(x$steps)) {
    cat("  noise      ", x$noise$mechanism, ", scale ", format(x$noise$scale, digits = 5), ", in ", x$noise$unit, "\n", sep = "")
  }
  cat("\nNo data were opened and nothing was spent.\n")
  invisible(x)
}
