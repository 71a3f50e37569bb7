"""The posterior of regression models, from normal estimates whose noise is known."""
