"""Makes the helpers of this folder known to the tests below it."""
