"""What solved values of a parameter prove about all values between them."""
