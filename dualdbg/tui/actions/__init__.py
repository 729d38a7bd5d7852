"""What the user can do, an area each: the dashboard is made of them."""
