"""The fuzzer of all readers: files that were altered are refused by a sentence, or read as what they are."""
