"""The support desk: pages for staff who have a customer on the phone."""
