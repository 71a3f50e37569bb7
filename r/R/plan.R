# What a plan found by simulation from public facts.

plan_table <- function(plan) {
  fields <- c("rival", "epsilon", "n_rows", "scenario", "right", "overlap", "explained", "error")
  columns <- lapply(setNames(nm = fields), function(field) {
    unlist(lapply(plan$figures, function(figure) if (is.null(figure[[field]])) NA else figure[[field]]))
  })
  as.data.frame(columns, stringsAsFactors = FALSE)
}

summary.discreet_plan <- function(object, ...) plan_table(object)

print.discreet_plan <- function(x, digits = 2L, ...) {
  table <- plan_table(x)
  cat("\nPlan for ", x$supposed$target, " on ", length(x$supposed$candidates), " columns: no data opened, nothing spent\n\n", sep = "")
  if (nrow(table)) {
    cat("Chance of the right columns, by epsilon:\n")
    first <- table[table$n_rows == table$n_rows[1] & table$scenario %in% table$scenario[1], ]
    chances <- tapply(first$right, list(factor(first$rival, unique(first$rival)), first$epsilon), mean)
    names(dimnames(chances)) <- NULL
    print(round(chances, digits), na.print = "")
  }
  if (!is.null(x$recommended)) {
    cat("\nBest:", x$recommended$rival, "at epsilon", plain(x$recommended$epsilon), "\n")
    cat(strwrap(x$recommended$reason, indent = 2L, exdent = 2L), sep = "\n")
  }
  invisible(x)
}

plot.discreet_plan <- function(x, measure = c("right", "overlap", "explained"), xlab = "epsilon", ylab = NULL, ...) {
  measure <- match.arg(measure)
  table <- plan_table(x)
  if (!nrow(table)) refuse("This plan has no figures to plot.")
  first <- table[table$n_rows == table$n_rows[1] & table$scenario %in% table$scenario[1], ]
  rivals <- unique(first$rival)
  heights <- tapply(first[[measure]], list(first$epsilon, factor(first$rival, rivals)), mean)
  if (is.null(ylab)) ylab <- c(right = "chance of the right columns", overlap = "overlap with the right columns", explained = "part explained")[[measure]]
  colours <- hcl.colors(max(length(rivals), 2L), "Dark 3")
  matplot(
    as.numeric(rownames(heights)), heights, type = "b", pch = seq_along(rivals), lty = seq_along(rivals), col = colours, log = "x", ylim = c(0, 1.02 + 0.06 * length(rivals)),
    xlab = xlab, ylab = ylab, xaxt = "n", yaxt = "n", ...
  )
  axis(1, as.numeric(rownames(heights)))
  axis(2, seq(0, 1, 0.2), las = 1)
  legend("topleft", rivals, col = colours, pch = seq_along(rivals), lty = seq_along(rivals), bty = "n", cex = 0.8)
  invisible(heights)
}
