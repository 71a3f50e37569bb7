# A release: what leaves. The text is kept as the command wrote it, so that its digest stays.

new_release <- function(answer, n_rows = NULL) {
  value <- answer$value
  if (!identical(value$schema, "discreet/release@1")) refuse("This is not a release of Discreet.", code = 8L)
  kinds <- c(if (!is.null(value$fit)) "discreet_fit" else "discreet_selection", "discreet_release")
  structure(c(list(text = answer$text, n_rows = n_rows), value), class = kinds)
}

dp_read <- function(file) {
  text <- paste(readLines(file_word(file, "`file`"), warn = FALSE, encoding = "UTF-8"), collapse = "\n")
  value <- tryCatch(jsonlite::fromJSON(text, simplifyVector = FALSE), error = function(e) refuse(file, " must be JSON, but it is not."))
  new_release(list(text = text, value = value))
}

dp_save <- function(x, file) {
  if (!inherits(x, c("discreet_release", "discreet_metadata", "discreet_plan"))) refuse("Releases, metadata and plans can be saved.")
  text <- sub("\n*$", "", paste(x$text, collapse = "\n"))
  writeLines(enc2utf8(text), file_word(file, "`file`"), useBytes = TRUE)
  invisible(file)
}

release_file <- function(release, folder) {
  if (is.character(release)) return(file_word(release, "A release"))
  if (!inherits(release, "discreet_release")) refuse("A release must be one that dp_select(), dp_fit(), dp_run() or dp_read() returned, or a file.")
  write_private(sub("\n*$", "", release$text), folder, "release.json")
}

# An end that cannot be told is infinite. The standard error is that of the interval, which is longer than a normal one
# where the noise is large: half its length over the normal quantile of its level; NA where an end cannot be told.
coefficients_of <- function(object) {
  if (is.null(object$fit)) refuse("This release selected columns and has no coefficients. Ask for them: dp_fit(from = release, ...).")
  field <- function(name) vapply(object$fit$coefficients, function(one) as.numeric(c(one[[name]], NA)[1]), 0)
  names <- vapply(object$fit$coefficients, function(one) one$name, "")
  names[names == "(intercept)"] <- "(Intercept)"
  sampling <- field("sampling_variance")
  privacy <- field("privacy_variance")
  low <- field("low")
  high <- field("high")
  low[is.na(low)] <- -Inf
  high[is.na(high)] <- Inf
  error <- (high - low) / 2 / stats::qnorm((1 + object$fit$confidence) / 2)
  error[is.infinite(error)] <- NA
  share <- privacy / (sampling + privacy)
  share[is.nan(share)] <- NA
  data.frame(
    term = names, estimate = field("estimate"), std.error = error, conf.low = low, conf.high = high, privacy.share = share,
    stringsAsFactors = FALSE
  )
}

coef.discreet_release <- function(object, ...) with(coefficients_of(object), setNames(estimate, term))

confint.discreet_release <- function(object, parm, level = object$fit$confidence, ...) {
  table <- coefficients_of(at_level(object, level))
  tails <- c(1 - level, 1 + level) / 2
  limits <- matrix(
    c(table$conf.low, table$conf.high), ncol = 2L, dimnames = list(table$term, paste(format(100 * tails, trim = TRUE, digits = 3), "%"))
  )
  if (missing(parm)) limits else limits[parm, , drop = FALSE]
}

# A linear fit holds noisy moments, from which other levels are free.
at_level <- function(object, level) {
  if (is.null(object$fit) || isTRUE(all.equal(level, object$fit$confidence))) return(object)
  if (object$method != "linear" || is.null(object$moments)) {
    refuse("This fit has intervals at level ", object$fit$confidence, " only. For another level, give `confidence` when you fit.")
  }
  dp_fit(from = object, columns = unlist(object$selected), confidence = level, quiet = TRUE)
}

nobs.discreet_release <- function(object, ...) {
  count <- c(object$n_rows, if (identical(as.numeric(object$moments$n_rows_variance), 0)) object$moments$n_rows)
  if (length(count)) as.integer(round(count[[1]])) else NA_integer_
}

predict.discreet_release <- function(object, newdata, type = c("response", "link"), interval = c("none", "confidence"),
                                     level = object$fit$confidence, ...) {
  type <- match.arg(type)
  interval <- match.arg(interval)
  coefficients_of(object)
  if (missing(newdata)) refuse("A release holds no rows to predict for: give `newdata`.")
  folder <- private_folder()
  on.exit(remove_folder(folder))
  needed <- intersect(c(unlist(object$selected), unlist(object$request$parameters[c("offset", "exposure")])), names(newdata))
  places <- lapply(seq_len(nrow(newdata)), function(row) lapply(newdata[needed], function(cells) plain_cell(cells[row])))
  values <- write_private(as_json(places), folder, "values.json")
  words <- c("predict", paste0("--values=", values), words_of(list(confidence = level)))
  answer <- run_json_before(words, c("--", release_file(object, folder)), quiet = TRUE)$value
  field <- if (type == "link") "linear_predictor" else "mean"
  if (!length(places)) return(setNames(numeric(), character()))
  fitted <- vapply(answer$predictions, function(one) interval_numbers(one[[field]]), c(fit = 0, lwr = 0, upr = 0))
  colnames(fitted) <- row.names(newdata)
  if (interval == "none") fitted["fit", ] else t(fitted)
}

plain_cell <- function(cell) if (is.factor(cell)) as.character(cell) else unclass(cell)

interval_numbers <- function(interval) {
  c(
    fit = as.numeric(interval$estimate), lwr = as.numeric(c(interval$low, -Inf)[1]), upr = as.numeric(c(interval$high, Inf)[1])
  )
}

summary.discreet_release <- function(object, ...) {
  value <- list(release = object)
  if (!is.null(object$fit)) {
    table <- coefficients_of(object)
    value$coefficients <- cbind(Estimate = table$estimate, "Std. Error" = table$std.error, confint(object))
    rownames(value$coefficients) <- table$term
    value$sigma <- object$fit$residual_sd
    value$r.squared <- object$fit$r_squared
  }
  structure(value, class = "summary.discreet_release")
}

formula.discreet_release <- function(x, ...) {
  columns <- unlist(x$selected)
  stats::reformulate(if (length(columns)) paste0("`", columns, "`") else "1", as.name(x$request$target))
}

# What `lm` has and a release cannot: NULL or an error about methods would leave open why.
without_rows <- function(what) {
  function(...) refuse("A release holds no rows, so it has no ", what, ". It has coef(), confint(), summary() and predict(newdata = ...).")
}
residuals.discreet_release <- without_rows("residuals")
fitted.discreet_release <- without_rows("fitted values")
deviance.discreet_release <- without_rows("deviance")
logLik.discreet_release <- without_rows("likelihood, AIC or BIC")
anova.discreet_release <- without_rows("analysis of variance")
vcov.discreet_release <- function(object, ...) {
  refuse("A release holds no covariance of its coefficients. Standard errors are in summary(fit)$coefficients.")
}

print.discreet_release <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  print_head(x)
  if (is.null(x$fit)) print_selected(x) else {
    cat("Coefficients:\n")
    print(coef(x), digits = digits)
  }
  cat("\n")
  print_promise(x)
  invisible(x)
}

print.summary.discreet_release <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  release <- x$release
  print_head(release)
  if (is.null(release$fit)) print_selected(release) else print_coefficients(release, digits)
  print_sizes(release, digits)
  if (!is.null(release$chance$chance_by_noise)) {
    cat("\n", chance_words(release$chance$chance_by_noise, length(release$selected)), "\n", sep = "")
  }
  cat("\n")
  print_promise(release)
  invisible(x)
}

# As the command says it: in 100 tables, or in 1,000 where it is seldom.
chance_words <- function(chance, n_selected) {
  often <- if (chance < 0.001) {
    "fewer than 1 in 1,000"
  } else if (chance >= 0.01) {
    paste("about", round(100 * chance), "in 100")
  } else {
    paste("about", round(1000 * chance), "in 1,000")
  }
  what <- if (n_selected > 1L) "as much" else "a column"
  paste0("If no column had an effect, ", often, " tables would still give ", what, ".")
}

print_head <- function(release) {
  request <- release$request
  what <- if (is.null(release$fit)) "Private selection" else paste0("Private ", release$fit$family, " regression")
  if (release$method == "run") what <- paste(what, "after a selection")
  cat("\n", what, " of ", request$target, " (", release$method, ")\n\n", sep = "")
  if (!isTRUE(release$private)) cat("NOT PRIVATE: no guarantee, for study. It must not leave.\n\n")
}

print_selected <- function(release) {
  selected <- unlist(release$selected)
  cat("Selected of ", count_of(release$request$candidates), " columns:\n", sep = "")
  if (length(selected)) print(noquote(selected)) else cat("  no column\n")
}

# Whether the intervals of selected columns hold after the selection.
after_selection <- function(release) {
  how <- release$request$parameters$selective_inference
  if (identical(how, "split")) return("Half of the units selected the columns. The other half gave these intervals, so they hold after the selection.")
  if (identical(how, "fission") && !is.null(release$moments$fission)) {
    return("Half of the information in the moments selected the columns. The other half gave these intervals, so they hold after the selection.")
  }
  fitted <- unique(unlist(lapply(release$fit$coefficients, function(one) one$column)))
  is_by_earlier <- !is.null(release$request$chosen$by) && identical(release$request$chosen$dataset, release$provenance$dataset)
  is_derived <- !is.null(release$provenance$derived_from) && setequal(fitted, unlist(release$selected))
  if (is_by_earlier || is_derived || release$method == "run") "The same rows selected the columns, so the level of these intervals is not guaranteed." else ""
}

count_of <- function(candidates) {
  if (!is.null(candidates$count)) format(candidates$count, big.mark = ",") else length(candidates)
}

print_coefficients <- function(release, digits) {
  table <- coefficients_of(release)
  tails <- 100 * c(1 - release$fit$confidence, 1 + release$fit$confidence) / 2
  shown <- cbind(table$estimate, table$std.error, table$conf.low, table$conf.high)
  limits <- paste(format(tails, trim = TRUE, digits = 3), "%")
  shown <- apply(shown, 2L, function(numbers) format(signif(numbers, digits), digits = digits))
  shown <- cbind(matrix(shown, ncol = 4L), ifelse(is.na(table$privacy.share), "", sprintf("%.0f%%", 100 * table$privacy.share)))
  dimnames(shown) <- list(table$term, c("Estimate", "Std. Error", limits, "Privacy"))
  cat("Coefficients:\n")
  print(noquote(shown), right = TRUE)
  cat("Privacy: the noise's share of the interval's variance.\n")
  caution <- after_selection(release)
  if (nzchar(caution)) cat("\n", paste(strwrap(caution), collapse = "\n"), "\n", sep = "")
  if (!is.null(release$fit$residual_sd)) {
    cat("\nResidual standard deviation: ", format(release$fit$residual_sd, digits = digits), sep = "")
    if (!is.null(release$fit$r_squared)) cat(",  R-squared: ", format(release$fit$r_squared, digits = digits), sep = "")
    cat("\n")
  }
}

print_sizes <- function(release, digits) {
  if (!length(release$by_size)) return(invisible())
  cat("\nBest model of each size:\n")
  sizes <- size_table(release)
  sizes$criterion <- format(sizes$criterion, digits = digits + 1L)
  sizes$r.squared <- format(round(sizes$r.squared, 3L))
  print_cut(sizes)
}

size_table <- function(release) {
  data.frame(
    size = vapply(release$by_size, function(one) one$size, 0),
    criterion = vapply(release$by_size, function(one) one$criterion, 0),
    r.squared = vapply(release$by_size, function(one) as.numeric(c(one$r_squared, NA)[1]), 0),
    columns = vapply(release$by_size, function(one) paste(unlist(one$columns), collapse = ", "), "")
  )
}

print_promise <- function(release) {
  promise <- release$guarantee
  if (is.null(promise)) return(cat("No guarantee.\n"))
  cat(
    "Guarantee: epsilon ", plain(promise$epsilon), ", delta ", plain(promise$delta), ", ", promise$neighboring, ", per ", promise$unit,
    "\n", sep = ""
  )
  ledger <- release$provenance$ledger
  if (is.null(ledger)) cat("No ledger was charged.\n") else {
    cat(
      "Ledger:    ", plain(ledger$epsilon_spent), " of ", plain(ledger$epsilon_cap), " spent for ", release$provenance$dataset,
      " (entry ", ledger$entry, ")\n", sep = ""
    )
  }
}

tidy.discreet_release <- function(x, conf.int = TRUE, conf.level = x$fit$confidence, ...) {
  if (is.null(x$fit)) return(data.frame(term = as.character(unlist(x$selected))))
  table <- coefficients_of(at_level(x, conf.level))
  if (conf.int) table else table[c("term", "estimate", "std.error", "privacy.share")]
}

glance.discreet_release <- function(x, ...) {
  or_missing <- function(value) as.numeric(c(value, NA)[1])
  data.frame(
    method = x$method, n.selected = length(x$selected), r.squared = or_missing(x$fit$r_squared), sigma = or_missing(x$fit$residual_sd),
    nobs = nobs(x), epsilon = or_missing(x$guarantee$epsilon), delta = or_missing(x$guarantee$delta),
    private = isTRUE(x$private)
  )
}
