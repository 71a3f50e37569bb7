"""The trusted third party: holds private tables, answers requests with private releases, spends by the ledger."""
