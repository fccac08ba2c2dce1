"""The kits for those who write their own: each is seen to pass what is right, and to find what is not."""
