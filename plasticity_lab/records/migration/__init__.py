"""Stores that earlier versions wrote, brought to today's formats file by file: all that is known of old formats."""
