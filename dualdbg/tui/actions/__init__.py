"""What the user can do, one module for each area; the dashboard inherits from all of them."""
