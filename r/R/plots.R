# Pictures of releases: intervals of coefficients; the best models of each size.

plot.discreet_release <- function(x, ...) {
  if (!is.null(x$fit)) return(plot_coefficients(x, ...))
  if (length(x$by_size)) return(plot_sizes(x, ...))
  refuse("This release holds the names of the selected columns and no figures to plot.")
}

# Outside of the line is what the privacy noise adds to the interval; inside, thick, what sampling alone would give.
plot_coefficients <- function(release, intercept = FALSE, xlab = "coefficient, in units of the column", main = NULL, ...) {
  table <- coefficients_of(release)
  if (!intercept && nrow(table) > 1L) table <- table[table$term != "(Intercept)", ]
  share <- sqrt(1 - table$privacy.share)
  inner <- cbind(table$estimate - share * (table$estimate - table$conf.low), table$estimate + share * (table$conf.high - table$estimate))
  ends <- range(0, table$estimate, table$conf.low, table$conf.high, na.rm = TRUE)
  low <- ifelse(is.na(table$conf.low), 2 * ends[1] - ends[2], table$conf.low)
  high <- ifelse(is.na(table$conf.high), 2 * ends[2] - ends[1], table$conf.high)
  rows <- rev(seq_len(nrow(table)))
  kept <- par(mar = c(5, 1 + 0.55 * max(nchar(table$term)), 3, 1))
  on.exit(par(kept))
  if (is.null(main)) main <- paste0(release$request$target, ", ", 100 * release$fit$confidence, "% intervals")
  plot(NA, xlim = ends, ylim = c(0.5, max(rows) + 0.5), yaxt = "n", ylab = "", xlab = xlab, main = main, ...)
  axis(2, at = rows, labels = table$term, las = 1, tick = FALSE)
  abline(v = 0, lty = 3, col = "grey50")
  segments(low, rows, high, rows, lwd = 1.5)
  segments(inner[, 1], rows, inner[, 2], rows, lwd = 5, col = "grey60", lend = 1)
  points(table$estimate, rows, pch = 19)
  mtext("thick: as long as it would be without the noise for privacy", side = 3, line = 0.2, cex = 0.8, col = "grey30")
  invisible(table)
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
  kept <- par(mar = c(2 + 0.55 * max(nchar(candidates)), 6, 3, 1))
  on.exit(par(kept))
  image(
    seq_along(candidates), seq_along(criterion), shade, zlim = c(1, max(2, length(criterion))),
    col = hcl.colors(length(criterion) + 2L, "Blues 3", rev = TRUE)[-(1:2)], axes = FALSE, xlab = "", ylab = "", ...
  )
  axis(1, seq_along(candidates), candidates, las = 2, tick = FALSE)
  axis(2, seq_along(criterion), format(criterion[order_of], digits = 4), las = 1, tick = FALSE)
  mtext("criterion", 2, line = 4.5)
  box()
  if (is.null(main)) main <- paste0(release$request$target, ": best model of each size, the best on top")
  graphics::title(main)
  invisible(size_table(release)[rev(order_of), ])
}
