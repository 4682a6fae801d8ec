"""The product: what is known (state), what happened (events), what to do next (decide). Pure; see README.md here."""
