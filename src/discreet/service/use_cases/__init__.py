"""What the service does for people, whoever asks: the API and the pages both call these verbs."""
