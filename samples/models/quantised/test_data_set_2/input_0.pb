BimageJÏ-<.ÍÞ•
UnŸzC