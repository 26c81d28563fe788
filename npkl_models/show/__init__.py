"""Problems and answers in words and pictures."""
