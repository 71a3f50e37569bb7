# Pictures of releases: intervals of coefficients; the best models of each size.

plot.discreet_release <- function(x, ...) {
  if (!is.null(x$fit)) return(plot_coefficients(x, ...))
  if (length(x$by_size)) return(plot_sizes(x, ...))
  refuse("This release holds the names of the selected columns and no figures to plot.")
}

# Outside of the thick line is what the noise for privacy adds to the interval.
plot_coefficients <- function(release, per = c("range", "unit"), intercept = FALSE, xlab = NULL, main = NULL, ...) {
  per <- match.arg(per)
  table <- coefficients_of(release)
  numbers <- c("estimate", "conf.low", "conf.high")
  if (per == "range") table[numbers] <- table[numbers] * ranges_of(release)
  if (!intercept && nrow(table) > 1L) table <- table[table$term != "(Intercept)", ]
  share <- sqrt(1 - ifelse(is.na(table$privacy.share), 1, table$privacy.share))
  ends <- range(0, table$estimate, table$conf.low, table$conf.high, finite = TRUE)
  low <- ifelse(is.infinite(table$conf.low), 2 * ends[1] - ends[2], table$conf.low)
  high <- ifelse(is.infinite(table$conf.high), 2 * ends[2] - ends[1], table$conf.high)
  inner <- cbind(table$estimate - share * (table$estimate - low), table$estimate + share * (high - table$estimate))
  inner[is.infinite(table$conf.low) | is.infinite(table$conf.high), ] <- NA # what cannot be told has no part either
  rows <- rev(seq_len(nrow(table)))
  earlier <- par(mar = c(5, 1 + 0.55 * max(nchar(table$term)), 4, 1))
  on.exit(par(earlier))
  what <- if (release$fit$family %in% c("logistic", "poisson")) "linear predictor" else release$request$target
  if (is.null(xlab)) xlab <- paste0("change of ", what, if (per == "range") " from a column's lower to its upper bound" else " per unit of the column")
  if (is.null(main)) main <- paste0("Coefficients for ", release$request$target, ", ", 100 * release$fit$confidence, "% intervals")
  plot(NA, xlim = ends, ylim = c(0.5, max(rows) + 0.5), yaxt = "n", ylab = "", xlab = xlab, main = main, ...)
  axis(2, at = rows, labels = table$term, las = 1, tick = FALSE)
  abline(v = 0, lty = 3, col = "grey50")
  segments(inner[, 1], rows, inner[, 2], rows, lwd = 9, col = "grey75", lend = 1)
  segments(low, rows, high, rows, lwd = 1.5)
  points(table$estimate, rows, pch = 19)
  mtext("grey: as long as it would be without the noise for privacy", side = 3, line = 0.4, cex = 0.8, col = "grey30")
  invisible(table)
}

# Width of the bounds of each coefficient's column; 1 for a level of a category and the intercept.
ranges_of <- function(release) {
  width <- vapply(release$public, function(column) if (is.null(column$lower)) 1 else as.numeric(column$upper - column$lower), 0)
  names(width) <- vapply(release$public, function(column) column$name, "")
  columns <- vapply(release$fit$coefficients, function(one) if (is.null(one$column) || !is.null(one$level)) NA_character_ else one$column, "")
  found <- unname(width[columns])
  ifelse(is.na(found), 1, found)
}

# As plot() of leaps' regsubsets: a row a model, the best on top, a column a variable.
plot_sizes <- function(release, main = NULL, ...) {
  models <- release$by_size
  criterion <- vapply(models, function(model) model$criterion, 0)
  candidates <- unlist(release$request$candidates)
  order_of <- order(criterion, decreasing = TRUE)
  is_in <- vapply(models[order_of], function(model) candidates %in% unlist(model$columns), logical(length(candidates)))
  is_in <- matrix(is_in, nrow = length(candidates))
  shade <- row(is_in) * 0 + col(is_in)
  shade[!is_in] <- NA
  earlier <- par(mar = c(2 + 0.55 * max(nchar(candidates)), 6, 3, 1))
  on.exit(par(earlier))
  image(
    seq_along(candidates), seq_along(criterion), shade, zlim = c(1, max(2, length(criterion))),
    col = hcl.colors(length(criterion) + 2L, "Blues 3", rev = TRUE)[-(1:2)], axes = FALSE, xlab = "", ylab = "", ...
  )
  axis(1, seq_along(candidates), candidates, las = 2, tick = FALSE)
  axis(2, seq_along(criterion), format(criterion[order_of], digits = 4), las = 1, tick = FALSE)
  mtext("criterion", 2, line = 4.5)
  box()
  if (is.null(main)) main <- paste0(release$request$target, ": best model of each size, the best on top")
  title(main)
  invisible(size_table(release)[rev(order_of), ])
}
