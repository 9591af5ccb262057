"""What people save for later: named views of pages."""
